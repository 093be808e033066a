/* The program itself: threads with an engine each, and what the scripts inside of it ask of C. */
#include <stdio.h>
#include <unistd.h>
#include <signal.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <malloc.h>
#include <ucontext.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include "core.h"

#ifndef STAGE
extern const uint8_t parts_start[], parts_end[];
__asm__(".section .rodata\n.balign 16\n.globl parts_start\nparts_start:\n.incbin \"parts.bin\"\n"
	".globl parts_end\nparts_end:\n.byte 0\n.text\n");
#endif

static int program_argc;
static char **program_argv;

uint8_t *bytes_of(JSContext *ctx, JSValueConst value, size_t *length)
{
	size_t offset = 0, size = 0, width, whole;
	JSValue buffer = JS_GetTypedArrayBuffer(ctx, value, &offset, &size, &width);
	uint8_t *start;
	*length = 0;
	if (JS_IsException(buffer)) {
		JS_FreeValue(ctx, JS_GetException(ctx));
		start = JS_GetArrayBuffer(ctx, &whole, value);
		if (!start) {
			JS_FreeValue(ctx, JS_GetException(ctx));
			return NULL;
		}
		*length = whole;
		return start;
	}
	start = JS_GetArrayBuffer(ctx, &whole, buffer);
	JS_FreeValue(ctx, buffer);
	if (!start) {
		JS_FreeValue(ctx, JS_GetException(ctx));
		return NULL;
	}
	*length = size;
	return start + offset;
}

JSValue new_bytes(JSContext *ctx, const void *from, size_t length)
{
	return JS_NewArrayBufferCopy(ctx, from, length);
}

static void free_counted(JSRuntime *runtime, void *opaque, void *memory)
{
	js_free_rt(runtime, memory);
}

/* Takes what js_malloc gave. */
JSValue own_bytes(JSContext *ctx, void *from, size_t length)
{
	return JS_NewArrayBuffer(ctx, from, length, free_counted, NULL, 0);
}

JSValue call_hook(JSContext *ctx, const char *name, int count, JSValueConst *values)
{
	JSValue hook = JS_GetPropertyStr(ctx, thread_of(ctx)->hooks, name);
	JSValue value = JS_Call(ctx, hook, JS_UNDEFINED, count, values);
	JS_FreeValue(ctx, hook);
	return value;
}

#ifndef STAGE
/* The built-in scripts: a number of entries of 64 bytes (name, place, length), then what they name. */
JSValue evaluate_part(JSContext *ctx, const char *name)
{
	uint32_t count, i, place, length;
	memcpy(&count, parts_start, 4);
	for (i = 0; i < count; i++) {
		const uint8_t *entry = parts_start + 64 + i * 64;
		if (strncmp((const char *)entry, name, 56))
			continue;
		memcpy(&place, entry + 56, 4);
		memcpy(&length, entry + 60, 4);
		JSValue code = JS_ReadObject(ctx, parts_start + place, length, JS_READ_OBJ_BYTECODE);
		if (JS_IsException(code))
			return code;
		return JS_EvalFunction(ctx, code);
	}
	return JS_UNDEFINED;
}
#else
JSValue evaluate_part(JSContext *ctx, const char *name)
{
	return JS_UNDEFINED;
}
#endif

FN(part)
{
	const char *name = JS_ToCString(ctx, argv[0]);
	JSValue value = evaluate_part(ctx, name);
	JS_FreeCString(ctx, name);
	return value;
}

FN(arguments)
{
	JSValue list = JS_NewArray(ctx);
	for (int i = 0; i < program_argc; i++)
		JS_SetPropertyUint32(ctx, list, i, JS_NewString(ctx, program_argv[i]));
	return list;
}

FN(hooks)
{
	struct thread *thread = thread_of(ctx);
	JS_FreeValue(ctx, thread->hooks);
	thread->hooks = JS_DupValue(ctx, argv[0]);
	return JS_UNDEFINED;
}

static JSValue run_job(JSContext *ctx, int count, JSValueConst *values)
{
	JSValue value = JS_Call(ctx, values[0], JS_UNDEFINED, 0, NULL);
	if (JS_IsException(value) && !atomic_load(&thread_of(ctx)->stop)) {
		JSValue error = JS_GetException(ctx);
		value = call_hook(ctx, "fatal", 1, (JSValueConst *)&error);
		JS_FreeValue(ctx, error);
	}
	return value;
}

FN(enqueue)
{
	JS_EnqueueJob(ctx, run_job, 1, argv);
	return JS_UNDEFINED;
}

static JSValue end_thread(JSContext *ctx)
{
	JSValue error = JS_NewError(ctx);
	JS_SetUncatchableError(ctx, error, 1);
	return JS_Throw(ctx, error);
}

FN(runJobs)
{
	struct thread *thread = thread_of(ctx);
	JSContext *other;
	int status;
	while ((status = JS_ExecutePendingJob(thread->runtime, &other)) != 0) {
		if (status < 0)
			JS_FreeValue(ctx, JS_GetException(ctx));
		/* What ends a thread may have become a promise's reason. */
		if (thread->leaving || atomic_load(&thread->stop))
			return end_thread(ctx);
	}
	return JS_UNDEFINED;
}

FN(epoll)
{
	struct epoll_event event = { .events = int_arg(ctx, argv[2]) };
	int fd = int_arg(ctx, argv[1]);
	event.data.fd = fd;
	return result(ctx, epoll_ctl(thread_of(ctx)->epoll, int_arg(ctx, argv[0]), fd, &event));
}

FN(wait)
{
	struct epoll_event events[64];
	struct thread *thread = thread_of(ctx);
	int count = epoll_wait(thread->epoll, events, COUNT(events), int_arg(ctx, argv[0]));
	JSValue list = JS_NewArray(ctx);
	for (int i = 0; i < count; i++) {
		JS_SetPropertyUint32(ctx, list, 2 * i, JS_NewInt32(ctx, events[i].data.fd));
		JS_SetPropertyUint32(ctx, list, 2 * i + 1, JS_NewInt32(ctx, events[i].events));
	}
	return list;
}

FN(leave)
{
	struct thread *thread = thread_of(ctx);
	thread->status = int_arg(ctx, argv[0]);
	if (!thread->worker) {
		fflush(NULL);
		_exit(thread->status & 255);
	}
	thread->leaving = 1;
	return end_thread(ctx);
}

FN(collect)
{
	JS_RunGC(JS_GetRuntime(ctx));
	return JS_UNDEFINED;
}

FN(usage)
{
	JSMemoryUsage usage;
	JS_ComputeMemoryUsage(JS_GetRuntime(ctx), &usage);
	JSValue list = JS_NewArray(ctx);
	JS_SetPropertyUint32(ctx, list, 0, JS_NewInt64(ctx, usage.malloc_size));
	JS_SetPropertyUint32(ctx, list, 1, JS_NewInt64(ctx, usage.memory_used_size));
	JS_SetPropertyUint32(ctx, list, 2, JS_NewInt64(ctx, usage.binary_object_size));
	return list;
}

FN(classOf)
{
	return JS_NewInt32(ctx, JS_IsObject(argv[0]) ? (int)JS_GetClassID(argv[0]) : 0);
}

FN(promiseState)
{
	JSPromiseStateEnum state = JS_PromiseState(ctx, argv[0]);
	JSValue list = JS_NewArray(ctx);
	JS_SetPropertyUint32(ctx, list, 0, JS_NewInt32(ctx, state));
	JS_SetPropertyUint32(ctx, list, 1, state == JS_PROMISE_PENDING ? JS_UNDEFINED :
		JS_PromiseResult(ctx, argv[0]));
	return list;
}

static void rejection(JSContext *ctx, JSValueConst promise, JSValueConst reason, JS_BOOL handled, void *opaque)
{
	JSValueConst values[3] = { promise, reason, handled ? JS_TRUE : JS_FALSE };
	if (!JS_IsObject(thread_of(ctx)->hooks))
		return;
	JS_FreeValue(ctx, call_hook(ctx, "rejection", 3, values));
}

static int interrupted(JSRuntime *runtime, void *opaque)
{
	struct thread *thread = opaque;
	return atomic_load_explicit(&thread->stop, memory_order_relaxed);
}

static const JSCFunctionListEntry entries[] = {
	DEF(part, 1), DEF(arguments, 0), DEF(hooks, 1), DEF(enqueue, 1), DEF(runJobs, 0), DEF(epoll, 3),
	DEF(wait, 1), DEF(leave, 1), DEF(collect, 0), DEF(usage, 0), DEF(classOf, 1), DEF(promiseState, 1),
};

struct thread *new_thread(int worker, size_t limit)
{
	struct thread *thread = calloc(1, sizeof *thread);
	JSRuntime *runtime = JS_NewRuntime();
	thread->runtime = runtime;
	thread->worker = worker;
	thread->hooks = JS_UNDEFINED;
	thread->epoll = epoll_create1(EPOLL_CLOEXEC);
	JS_SetRuntimeOpaque(runtime, thread);
	JS_SetMaxStackSize(runtime, worker ? 6 << 20 : 12 << 20);
	JS_SetCanBlock(runtime, 1);
	JS_SetInterruptHandler(runtime, interrupted, thread);
	JS_SetHostPromiseRejectionTracker(runtime, rejection, NULL);
	share_memory(runtime);
	if (limit)
		JS_SetMemoryLimit(runtime, limit);
	thread->context = JS_NewContext(runtime);
	return thread;
}

void free_thread(struct thread *thread)
{
	JS_FreeValue(thread->context, thread->hooks);
	thread->hooks = JS_UNDEFINED;
	JS_FreeContext(thread->context);
	JS_FreeRuntime(thread->runtime);
	close(thread->epoll);
}

int run_thread(struct thread *thread, JSValue start)
{
	JSContext *ctx = thread->context;
	JSValue sys = JS_NewObject(ctx), boot, value;
	JS_SetPropertyFunctionList(ctx, sys, entries, COUNT(entries));
	add_bytes(ctx, sys);
	add_digests(ctx, sys);
	add_files(ctx, sys);
	add_sockets(ctx, sys);
	add_processes(ctx, sys);
	add_modules(ctx, sys);
	add_workers(ctx, sys);
	JS_SetPropertyStr(ctx, sys, "start", start);
	boot = evaluate_part(ctx, "boot");
	JSValueConst values[4] = { JS_UNDEFINED, sys, JS_UNDEFINED, JS_UNDEFINED };
	value = JS_Call(ctx, boot, JS_UNDEFINED, 4, values);
	JS_FreeValue(ctx, boot);
	JS_FreeValue(ctx, sys);
	if (JS_IsException(value) && !thread->leaving && !atomic_load(&thread->stop)) {
		JSValue error = JS_GetException(ctx), stack = JS_GetPropertyStr(ctx, error, "stack");
		const char *text = JS_ToCString(ctx, error), *where = JS_ToCString(ctx, stack);
		fprintf(stderr, "%s\n%s\n", text ? text : "out of memory", where ? where : "");
		JS_FreeCString(ctx, text);
		JS_FreeCString(ctx, where);
		JS_FreeValue(ctx, stack);
		JS_FreeValue(ctx, error);
		thread->status = 1;
	} else
		JS_FreeValue(ctx, value);
	return thread->status;
}

#ifdef STAGE
/* At build time: `stage OUT NAME=FILE…` compiles the built-in scripts. */
static char *whole_file(const char *path, size_t *length)
{
	FILE *file = fopen(path, "rb");
	char *text;
	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	*length = ftell(file);
	rewind(file);
	/* Each is the body of a function. */
	static const char head[] = "(function (need, sys, module, exports) {", foot[] = "\n})";
	text = malloc(*length + sizeof head + sizeof foot);
	strcpy(text, head);
	*length = fread(text + sizeof head - 1, 1, *length, file) + sizeof head - 1;
	strcpy(text + *length, foot);
	*length += sizeof foot - 1;
	fclose(file);
	return text;
}

int main(int argc, char **argv)
{
	struct thread *thread = new_thread(0, 0);
	JSContext *ctx = thread->context;
	uint32_t count = argc - 2, place = 64 + 64 * count, length;
	uint8_t *table = calloc(count + 1, 64);
	FILE *out = fopen(argv[1], "wb");
	memcpy(table, &count, 4);
	fwrite(table, 64, count + 1, out);
	JS_SetStripInfo(thread->runtime, JS_STRIP_SOURCE);
	for (uint32_t i = 0; i < count; i++) {
		char *name = argv[i + 2], *path = strchr(name, '='), *text;
		size_t size;
		uint8_t *code;
		*path++ = 0;
		text = whole_file(path, &size);
		if (!text) {
			fprintf(stderr, "%s: cannot be read\n", path);
			return 1;
		}
		JSValue function = JS_Eval(ctx, text, size, path, JS_EVAL_FLAG_COMPILE_ONLY | JS_EVAL_FLAG_STRICT);
		if (JS_IsException(function)) {
			JSValue error = JS_GetException(ctx), stack = JS_GetPropertyStr(ctx, error, "stack");
			fprintf(stderr, "%s: %s\n%s", path, JS_ToCString(ctx, error), JS_ToCString(ctx, stack));
			return 1;
		}
		code = JS_WriteObject(ctx, &size, function, JS_WRITE_OBJ_BYTECODE);
		strncpy((char *)table + 64 + 64 * i, name, 55);
		length = size;
		memcpy(table + 64 + 64 * i + 56, &place, 4);
		memcpy(table + 64 + 64 * i + 60, &length, 4);
		fwrite(code, 1, size, out);
		place += length;
	}
	rewind(out);
	fwrite(table, 64, count + 1, out);
	return fclose(out) ? 1 : 0;
}
#else
static ucontext_t program_context;
static size_t program_limit;

static void begin(void)
{
	struct thread *thread = new_thread(0, program_limit);
	int status = run_thread(thread, JS_UNDEFINED);
	fflush(NULL);
	_exit(status & 255);
}

int main(int argc, char **argv)
{
	struct sysinfo info;
	size_t limit;
	program_argc = argc;
	program_argv = argv;
	signal(SIGPIPE, SIG_IGN);
	/* Without a limit the kernel would choose a victim when memory is at its end. */
	sysinfo(&info);
	limit = (size_t)info.totalram * info.mem_unit / 10 * 7;
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
	for (int i = 1; i < argc && argv[i][0] == '-'; i++)
		if (!strcmp(argv[i], "--memory") && i + 1 < argc)
			limit = (size_t)atol(argv[i + 1]) << 20;
		else if (!strncmp(argv[i], "--memory=", 9))
			limit = (size_t)atol(argv[i] + 9) << 20;
	/* The engine goes deep, and some of it looks late at how deep it is. */
	size_t room = 256 << 20;
	void *stack = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	program_limit = limit;
	if (stack == MAP_FAILED || getcontext(&program_context) < 0)
		begin();
	program_context.uc_stack.ss_sp = stack;
	program_context.uc_stack.ss_size = room;
	program_context.uc_link = NULL;
	makecontext(&program_context, begin, 0);
	setcontext(&program_context);
	return 1;
}
#endif
