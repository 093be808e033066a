/* Modules: the scripts resolve and read, the engine links and runs. */
#include "core.h"

/* The parser calls it an error of syntax when it is too deep. */
static void too_deep(JSContext *ctx)
{
	JSValue error = JS_GetException(ctx), message = JS_GetPropertyStr(ctx, error, "message");
	const char *text = JS_ToCString(ctx, message);
	if (text && !strcmp(text, "stack overflow")) {
		JS_FreeValue(ctx, error);
		JS_ThrowRangeError(ctx, "Maximum call stack size exceeded");
	} else
		JS_Throw(ctx, error);
	JS_FreeCString(ctx, text);
	JS_FreeValue(ctx, message);
}

/* compile(source, file name): a function of a CommonJS module. */
FN(compile)
{
	size_t length;
	const char *source = JS_ToCStringLen(ctx, &length, argv[0]);
	const char *name = JS_ToCString(ctx, argv[1]);
	JSValue value = JS_EXCEPTION;
	if (source && name)
		value = JS_Eval(ctx, source, length, name, JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_BACKTRACE_BARRIER);
	if (JS_IsException(value))
		too_deep(ctx);
	JS_FreeCString(ctx, source);
	JS_FreeCString(ctx, name);
	return value;
}

/* load(base, specifier): a promise for the namespace. */
FN(load)
{
	const char *base = JS_ToCString(ctx, argv[0]), *name = JS_ToCString(ctx, argv[1]);
	JSValue value = JS_LoadModule(ctx, base, name);
	JS_FreeCString(ctx, base);
	JS_FreeCString(ctx, name);
	return value;
}

static char *normalize(JSContext *ctx, const char *base, const char *name, void *opaque)
{
	JSValue values[2] = { JS_NewString(ctx, base), JS_NewString(ctx, name) };
	JSValue value = call_hook(ctx, "resolve", 2, (JSValueConst *)values);
	char *text = NULL;
	JS_FreeValue(ctx, values[0]);
	JS_FreeValue(ctx, values[1]);
	if (JS_IsException(value))
		return NULL;
	const char *found = JS_ToCString(ctx, value);
	if (found)
		text = js_strdup(ctx, found);
	JS_FreeCString(ctx, found);
	JS_FreeValue(ctx, value);
	return text;
}

/* What is no module of the engine's (built in, or CommonJS) is one whose values a script gives when its
   turn comes. */
static int fill(JSContext *ctx, JSModuleDef *module)
{
	JSAtom atom = JS_GetModuleName(ctx, module);
	JSValue name = JS_AtomToString(ctx, atom), values;
	int64_t count = 0, i;
	JS_FreeAtom(ctx, atom);
	values = call_hook(ctx, "fill", 1, (JSValueConst *)&name);
	JS_FreeValue(ctx, name);
	if (JS_IsException(values))
		return -1;
	JSValue length = JS_GetPropertyStr(ctx, values, "length");
	JS_ToInt64(ctx, &count, length);
	JS_FreeValue(ctx, length);
	for (i = 0; i + 1 < count; i += 2) {
		JSValue key = JS_GetPropertyUint32(ctx, values, i);
		const char *text = JS_ToCString(ctx, key);
		JS_SetModuleExport(ctx, module, text, JS_GetPropertyUint32(ctx, values, i + 1));
		JS_FreeCString(ctx, text);
		JS_FreeValue(ctx, key);
	}
	JS_FreeValue(ctx, values);
	return 0;
}

static JSModuleDef *loader(JSContext *ctx, const char *name, void *opaque)
{
	JSValue key = JS_NewString(ctx, name);
	JSValue found = call_hook(ctx, "read", 1, (JSValueConst *)&key);
	JSModuleDef *module = NULL;
	if (JS_IsException(found)) {
		JS_FreeValue(ctx, key);
		return NULL;
	}
	if (JS_IsString(found)) {
		size_t length;
		const char *text = JS_ToCStringLen(ctx, &length, found);
		JSValue code = JS_Eval(ctx, text, length, name, JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY);
		JS_FreeCString(ctx, text);
		if (JS_IsException(code))
			too_deep(ctx);
		else {
			module = JS_VALUE_GET_PTR(code);
			JS_FreeValue(ctx, code);
			JSValue values[2] = { key, JS_GetImportMeta(ctx, module) };
			JS_FreeValue(ctx, call_hook(ctx, "meta", 2, (JSValueConst *)values));
			JS_FreeValue(ctx, values[1]);
		}
	} else {
		int64_t count = 0;
		JSValue size = JS_GetPropertyStr(ctx, found, "length");
		JS_ToInt64(ctx, &count, size);
		JS_FreeValue(ctx, size);
		module = JS_NewCModule(ctx, name, fill);
		for (int64_t i = 0; module && i < count; i++) {
			JSValue entry = JS_GetPropertyUint32(ctx, found, i);
			const char *text = JS_ToCString(ctx, entry);
			JS_AddModuleExport(ctx, module, text);
			JS_FreeCString(ctx, text);
			JS_FreeValue(ctx, entry);
		}
	}
	JS_FreeValue(ctx, found);
	JS_FreeValue(ctx, key);
	return module;
}

static const JSCFunctionListEntry entries[] = { DEF(compile, 2), DEF(load, 2) };

void add_modules(JSContext *ctx, JSValue sys)
{
	JS_SetPropertyFunctionList(ctx, sys, entries, COUNT(entries));
	JS_SetModuleLoaderFunc(JS_GetRuntime(ctx), normalize, loader, NULL);
}
