/* What the parts of the core share. */
#ifndef CORE_H
#define CORE_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <quickjs.h>

#define FN(name) static JSValue name(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
#define DEF(name, args) JS_CFUNC_DEF(#name, args, name)
#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

struct thread {
	JSRuntime *runtime;
	JSContext *context;
	JSValue hooks;
	int epoll;
	int worker;		/* 0 in the first thread */
	int leaving;
	int status;
	atomic_int stop;
	uint64_t control;	/* the port by which a worker is known to the one that started it */
};

static inline struct thread *thread_of(JSContext *ctx)
{
	return JS_GetRuntimeOpaque(JS_GetRuntime(ctx));
}

static inline int32_t int_arg(JSContext *ctx, JSValueConst value)
{
	int32_t number = 0;
	JS_ToInt32(ctx, &number, value);
	return number;
}

static inline int64_t long_arg(JSContext *ctx, JSValueConst value)
{
	int64_t number = 0;
	JS_ToInt64(ctx, &number, value);
	return number;
}

static inline double double_arg(JSContext *ctx, JSValueConst value)
{
	double number = 0;
	JS_ToFloat64(ctx, &number, value);
	return number;
}

static inline JSValue result(JSContext *ctx, int64_t value)
{
	return JS_NewInt64(ctx, value < 0 ? -errno : value);
}

uint8_t *bytes_of(JSContext *ctx, JSValueConst value, size_t *length);
JSValue new_bytes(JSContext *ctx, const void *from, size_t length);
JSValue own_bytes(JSContext *ctx, void *from, size_t length);
JSValue call_hook(JSContext *ctx, const char *name, int count, JSValueConst *values);

void add_bytes(JSContext *ctx, JSValue sys);
void add_digests(JSContext *ctx, JSValue sys);
void add_files(JSContext *ctx, JSValue sys);
void add_sockets(JSContext *ctx, JSValue sys);
void add_processes(JSContext *ctx, JSValue sys);
void add_modules(JSContext *ctx, JSValue sys);
void add_workers(JSContext *ctx, JSValue sys);

void share_memory(JSRuntime *runtime);
int run_thread(struct thread *thread, JSValue start);
struct thread *new_thread(int worker, size_t limit);
void free_thread(struct thread *thread);
JSValue evaluate_part(JSContext *ctx, const char *name);
int signal_pipe(void);
#endif
