/* Threads, and the ports by which they talk: a port has a queue, and a descriptor that says when to look. */
#include <pthread.h>
#include <stdio.h>
#include <signal.h>
#include <unistd.h>
#include <sys/eventfd.h>
#include "core.h"

struct message {
	struct message *next;
	uint8_t *bytes;
	size_t length;
	uint8_t **shared;
	size_t shares;
};

struct port {
	struct port *next;
	uint64_t id, other;
	int event;
	struct message *first, **last;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct port *ports;
static uint64_t last_id;

struct shared {
	atomic_long owners;
	size_t size;
	uint8_t bytes[] __attribute__((aligned(16)));
};

static void *shared_new(void *opaque, size_t size)
{
	struct shared *memory = calloc(1, sizeof *memory + size);
	if (!memory)
		return NULL;
	memory->size = size;
	atomic_init(&memory->owners, 1);
	return memory->bytes;
}

static void shared_free(void *opaque, void *bytes)
{
	struct shared *memory = (struct shared *)((uint8_t *)bytes - offsetof(struct shared, bytes));
	if (atomic_fetch_sub(&memory->owners, 1) == 1)
		free(memory);
}

static void shared_keep(void *opaque, void *bytes)
{
	struct shared *memory = (struct shared *)((uint8_t *)bytes - offsetof(struct shared, bytes));
	atomic_fetch_add(&memory->owners, 1);
}

void share_memory(JSRuntime *runtime)
{
	JSSharedArrayBufferFunctions functions = { shared_new, shared_free, shared_keep, NULL };
	JS_SetSharedArrayBufferFunctions(runtime, &functions);
}

static struct port *find_port(uint64_t id)
{
	struct port *port = ports;
	while (port && port->id != id)
		port = port->next;
	return port;
}

static void free_message(struct message *message)
{
	for (size_t i = 0; i < message->shares; i++)
		shared_free(NULL, message->shared[i]);
	free(message->shared);
	free(message->bytes);
	free(message);
}

static void wake(struct port *port)
{
	uint64_t one = 1;
	if (write(port->event, &one, sizeof one) < 0)
		one = 0;
}

FN(channel)
{
	struct port *pair[2];
	JSValue list = JS_NewArray(ctx);
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 2; i++) {
		struct port *port = pair[i] = calloc(1, sizeof *port);
		port->id = ++last_id;
		port->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		port->last = &port->first;
		port->next = ports;
		ports = port;
		JS_SetPropertyUint32(ctx, list, i, JS_NewInt64(ctx, port->id));
	}
	pair[0]->other = pair[1]->id;
	pair[1]->other = pair[0]->id;
	pthread_mutex_unlock(&lock);
	return list;
}

FN(portEvent)
{
	pthread_mutex_lock(&lock);
	struct port *port = find_port(long_arg(ctx, argv[0]));
	int event = port ? port->event : -1;
	pthread_mutex_unlock(&lock);
	return JS_NewInt32(ctx, event);
}

static int deliver(uint64_t from, struct message *message)
{
	pthread_mutex_lock(&lock);
	struct port *port = find_port(from), *other = port ? find_port(port->other) : NULL;
	if (other) {
		*other->last = message;
		other->last = &message->next;
		wake(other);
	}
	pthread_mutex_unlock(&lock);
	return other != NULL;
}

/* post(port, plain value) */
FN(post)
{
	struct message *message = calloc(1, sizeof *message);
	uint8_t **shared = NULL;
	uint8_t *bytes = JS_WriteObject2(ctx, &message->length, argv[1], JS_WRITE_OBJ_SAB | JS_WRITE_OBJ_REFERENCE,
		&shared, &message->shares);
	if (!bytes) {
		free(message);
		return JS_EXCEPTION;
	}
	message->bytes = malloc(message->length + 1);
	memcpy(message->bytes, bytes, message->length);
	js_free(ctx, bytes);
	message->shared = malloc((message->shares + 1) * sizeof *message->shared);
	for (size_t i = 0; i < message->shares; i++) {
		message->shared[i] = shared[i];
		shared_keep(NULL, shared[i]);
	}
	js_free(ctx, shared);
	if (!deliver(long_arg(ctx, argv[0]), message)) {
		free_message(message);
		return JS_FALSE;
	}
	return JS_TRUE;
}

/* take(port): a value; undefined if there is none, null if the other end was closed and nothing is left */
FN(take)
{
	uint64_t count;
	pthread_mutex_lock(&lock);
	struct port *port = find_port(long_arg(ctx, argv[0]));
	struct message *message = port ? port->first : NULL;
	int closed = !port || !find_port(port->other);
	if (message) {
		port->first = message->next;
		if (!port->first)
			port->last = &port->first;
	} else if (port && read(port->event, &count, sizeof count) < 0)
		count = 0;
	pthread_mutex_unlock(&lock);
	if (!message)
		return closed ? JS_NULL : JS_UNDEFINED;
	JSValue value = JS_ReadObject(ctx, message->bytes, message->length, JS_READ_OBJ_SAB | JS_READ_OBJ_REFERENCE);
	free_message(message);
	return value;
}

static void close_port(uint64_t id)
{
	struct port **at, *port;
	pthread_mutex_lock(&lock);
	for (at = &ports; *at && (*at)->id != id; at = &(*at)->next)
		;
	port = *at;
	if (port) {
		struct port *other = find_port(port->other);
		*at = port->next;
		if (other)
			wake(other);
	}
	pthread_mutex_unlock(&lock);
	if (!port)
		return;
	while (port->first) {
		struct message *message = port->first;
		port->first = message->next;
		free_message(message);
	}
	close(port->event);
	free(port);
}

FN(closePort)
{
	close_port(long_arg(ctx, argv[0]));
	return JS_UNDEFINED;
}

struct start {
	struct thread *thread;
	char *text;
	size_t limit;
	pthread_t handle;
	int wake;
	atomic_int owners, started;
	int worker;
	uint64_t control;
};

static struct start *starts[1024];

static void *work(void *opaque)
{
	struct start *start = opaque;
	struct thread *thread = new_thread(start->worker, start->limit);
	struct message *last = calloc(1, sizeof *last);
	JSContext *ctx = thread->context;
	JS_UpdateStackTop(thread->runtime);
	thread->control = start->control;
	pthread_mutex_lock(&lock);
	start->thread = thread;
	if (atomic_load(&start->started) < 0)
		atomic_store(&thread->stop, 1);
	pthread_mutex_unlock(&lock);
	JSValue text = JS_NewString(ctx, start->text);
	int status = run_thread(thread, text);
	if (atomic_load(&thread->stop))
		status = 1;
	/* The last message says how it ended. */
	JSValue value = JS_NewInt32(ctx, status);
	JS_ResetUncatchableError(ctx);
	atomic_store(&thread->stop, 0);
	uint8_t *bytes = JS_WriteObject(ctx, &last->length, value, 0);
	if (bytes) {
		last->bytes = malloc(last->length);
		memcpy(last->bytes, bytes, last->length);
		js_free(ctx, bytes);
	}
	pthread_mutex_lock(&lock);
	start->thread = NULL;
	pthread_mutex_unlock(&lock);
	free_thread(thread);
	if (!deliver(start->control, last))
		free_message(last);
	close_port(start->control);
	free(thread);
	return NULL;
}

/* startWorker(control port of the worker, text for it, number, memory limit): a handle */
FN(startWorker)
{
	struct start *start = calloc(1, sizeof *start);
	const char *text = JS_ToCString(ctx, argv[1]);
	pthread_attr_t attributes;
	sigset_t all, before;
	int slot = 0, error;
	start->text = strdup(text);
	JS_FreeCString(ctx, text);
	start->control = long_arg(ctx, argv[0]);
	start->worker = int_arg(ctx, argv[2]);
	start->limit = long_arg(ctx, argv[3]);
	pthread_mutex_lock(&lock);
	while (slot < COUNT(starts) && starts[slot])
		slot++;
	if (slot < COUNT(starts))
		starts[slot] = start;
	pthread_mutex_unlock(&lock);
	if (slot == COUNT(starts))
		return JS_NewInt32(ctx, -EAGAIN);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 32 << 20);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&start->handle, &attributes, work, start);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (error) {
		starts[slot] = NULL;
		free(start->text);
		free(start);
		return JS_NewInt32(ctx, -error);
	}
	return JS_NewInt32(ctx, slot);
}

FN(stopWorker)
{
	uint64_t one = 1;
	pthread_mutex_lock(&lock);
	struct start *start = starts[int_arg(ctx, argv[0]) & 1023];
	if (start) {
		if (start->thread)
			atomic_store(&start->thread->stop, 1);
		else
			atomic_store(&start->started, -1);
		/* It may be waiting for its control port. */
		struct port *port = find_port(start->control);
		if (port && write(port->event, &one, sizeof one) < 0)
			one = 0;
	}
	pthread_mutex_unlock(&lock);
	return JS_UNDEFINED;
}

FN(joinWorker)
{
	int slot = int_arg(ctx, argv[0]) & 1023;
	pthread_mutex_lock(&lock);
	struct start *start = starts[slot];
	starts[slot] = NULL;
	pthread_mutex_unlock(&lock);
	if (start) {
		pthread_join(start->handle, NULL);
		free(start->text);
		free(start);
	}
	return JS_UNDEFINED;
}

FN(stopped)
{
	return JS_NewBool(ctx, atomic_load(&thread_of(ctx)->stop));
}

static const JSCFunctionListEntry entries[] = {
	DEF(channel, 0), DEF(portEvent, 1), DEF(post, 2), DEF(take, 1), DEF(closePort, 1), DEF(startWorker, 4),
	DEF(stopWorker, 1), DEF(joinWorker, 1), DEF(stopped, 0),
};

void add_workers(JSContext *ctx, JSValue sys)
{
	JS_SetPropertyFunctionList(ctx, sys, entries, COUNT(entries));
}
