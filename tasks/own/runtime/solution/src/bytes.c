/* Bytes and text. Kinds of text: 0 UTF-8, 1 Latin-1, 2 UTF-16, 3 hexadecimal, 4 base64, 5 base64url, 6 ASCII. */
#include <stdio.h>
#include <sys/random.h>
#include "core.h"

static const char digits[] = "0123456789abcdef";
static const char letters64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

static int value64(int byte)
{
	if (byte >= 'A' && byte <= 'Z')
		return byte - 'A';
	if (byte >= 'a' && byte <= 'z')
		return byte - 'a' + 26;
	if (byte >= '0' && byte <= '9')
		return byte - '0' + 52;
	return byte == '+' || byte == '-' ? 62 : byte == '/' || byte == '_' ? 63 : -1;
}

static int value16(int byte)
{
	return byte >= '0' && byte <= '9' ? byte - '0' : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 :
		byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

/* The engine gives half a pair of surrogates as three bytes, which Unicode says shall be U+FFFD. */
static void without_halves(uint8_t *text, size_t length)
{
	for (size_t i = 0; i + 2 < length; i++)
		if (text[i] == 0xed && text[i + 1] >= 0xa0) {
			text[i] = 0xef;
			text[i + 1] = 0xbf;
			text[i + 2] = 0xbd;
		}
}

static uint32_t next_point(const uint8_t **at)
{
	const uint8_t *byte = *at;
	uint32_t point = byte[0];
	int more = point < 0x80 ? 0 : point < 0xe0 ? 1 : point < 0xf0 ? 2 : 3;
	if (more)
		point &= 0x3f >> more;
	for (int i = 1; i <= more; i++)
		point = point << 6 | (byte[i] & 0x3f);
	*at = byte + more + 1;
	return point;
}

/* encode(text, kind) */
FN(encode)
{
	size_t length, size = 0;
	const uint8_t *text = (const uint8_t *)JS_ToCStringLen(ctx, &length, argv[0]), *at = text, *end;
	int kind = int_arg(ctx, argv[1]);
	uint8_t *out;
	if (!text)
		return JS_EXCEPTION;
	end = text + length;
	out = js_malloc(ctx, kind == 2 ? 2 * length + 2 : length + 4);
	if (!out) {
		JS_FreeCString(ctx, (const char *)text);
		return JS_EXCEPTION;
	}
	if (kind == 0) {
		memcpy(out, text, size = length);
		without_halves(out, size);
	} else if (kind == 1 || kind == 6) {
		while (at < end) {
			uint32_t point = next_point(&at);
			if (point > 0xffff) {
				point -= 0x10000;
				out[size++] = 0xd800 + (point >> 10);
				point = 0xdc00 + (point & 0x3ff);
			}
			out[size++] = point;
		}
	} else if (kind == 2) {
		while (at < end) {
			uint32_t point = next_point(&at), unit;
			if (point > 0xffff) {
				point -= 0x10000;
				unit = 0xd800 + (point >> 10);
				out[size++] = unit;
				out[size++] = unit >> 8;
				point = 0xdc00 + (point & 0x3ff);
			}
			out[size++] = point;
			out[size++] = point >> 8;
		}
	} else if (kind == 3) {
		for (; at + 1 < end && value16(at[0]) >= 0 && value16(at[1]) >= 0; at += 2)
			out[size++] = value16(at[0]) << 4 | value16(at[1]);
	} else {
		uint32_t bits = 0;
		int have = 0;
		/* Of a unit of UTF-16 the lower byte counts. */
		while (at < end) {
			uint32_t point = next_point(&at), units[2] = { point, 0 };
			int number = 1, stop = 0;
			if (point > 0xffff) {
				units[0] = 0xd800 + ((point - 0x10000) >> 10);
				units[1] = 0xdc00 + (point & 0x3ff);
				number = 2;
			}
			for (int i = 0; i < number && !stop; i++) {
				int byte = units[i] & 255, value = value64(byte);
				stop = byte == '=';
				if (value < 0)
					continue;
				bits = bits << 6 | value;
				have += 6;
				if (have >= 8) {
					have -= 8;
					out[size++] = bits >> have;
				}
			}
			if (stop)
				break;
		}
	}
	JS_FreeCString(ctx, (const char *)text);
	return own_bytes(ctx, out, size);
}

/* The length of what is right at `at`, or 0 and in *skip how much one U+FFFD stands for. */
static int valid_at(const uint8_t *at, const uint8_t *end, int *skip)
{
	uint8_t byte = *at, low = 0x80, high = 0xbf;
	int more;
	if (byte < 0x80)
		return 1;
	*skip = 1;
	if (byte >= 0xc2 && byte <= 0xdf)
		more = 1;
	else if (byte >= 0xe0 && byte <= 0xef) {
		more = 2;
		if (byte == 0xe0)
			low = 0xa0;
		if (byte == 0xed)
			high = 0x9f;
	} else if (byte >= 0xf0 && byte <= 0xf4) {
		more = 3;
		if (byte == 0xf0)
			low = 0x90;
		if (byte == 0xf4)
			high = 0x8f;
	} else
		return 0;
	for (int i = 1; i <= more; i++) {
		if (at + i >= end || at[i] < low || at[i] > high) {
			*skip = i;
			return 0;
		}
		low = 0x80;
		high = 0xbf;
	}
	return more + 1;
}

static JSValue from_utf8(JSContext *ctx, const uint8_t *text, size_t length)
{
	const uint8_t *at = text, *end = text + length;
	int skip = 0, good;
	uint8_t *out;
	size_t size;
	JSValue value;
	while (at < end && (good = valid_at(at, end, &skip)))
		at += good;
	if (at == end)
		return JS_NewStringLen(ctx, (const char *)text, length);
	out = js_malloc(ctx, 3 * length + 1);
	if (!out)
		return JS_EXCEPTION;
	size = at - text;
	memcpy(out, text, size);
	while (at < end) {
		good = valid_at(at, end, &skip);
		if (good) {
			memcpy(out + size, at, good);
			size += good;
			at += good;
		} else {
			memcpy(out + size, "\xef\xbf\xbd", 3);
			size += 3;
			at += skip;
		}
	}
	value = JS_NewStringLen(ctx, (const char *)out, size);
	js_free(ctx, out);
	return value;
}

static size_t put_point(uint8_t *out, uint32_t point)
{
	if (point < 0x80) {
		out[0] = point;
		return 1;
	}
	if (point < 0x800) {
		out[0] = 0xc0 | point >> 6;
		out[1] = 0x80 | (point & 63);
		return 2;
	}
	if (point < 0x10000) {
		out[0] = 0xe0 | point >> 12;
		out[1] = 0x80 | (point >> 6 & 63);
		out[2] = 0x80 | (point & 63);
		return 3;
	}
	out[0] = 0xf0 | point >> 18;
	out[1] = 0x80 | (point >> 12 & 63);
	out[2] = 0x80 | (point >> 6 & 63);
	out[3] = 0x80 | (point & 63);
	return 4;
}

/* decode(bytes, from, to, kind) */
FN(decode)
{
	size_t length, size = 0, i;
	const uint8_t *bytes = bytes_of(ctx, argv[0], &length);
	size_t from = long_arg(ctx, argv[1]), to = long_arg(ctx, argv[2]);
	int kind = int_arg(ctx, argv[3]);
	uint8_t *out;
	JSValue value;
	if (to > length)
		to = length;
	if (from >= to)
		return JS_NewString(ctx, "");
	bytes += from;
	length = to - from;
	if (kind == 0)
		return from_utf8(ctx, bytes, length);
	out = js_malloc(ctx, 2 * length + 8);
	if (!out)
		return JS_EXCEPTION;
	if (kind == 1 || kind == 6)
		for (i = 0; i < length; i++)
			size += put_point(out + size, kind == 6 ? bytes[i] & 127 : bytes[i]);
	else if (kind == 2)
		for (i = 0; i + 1 < length; i += 2) {
			uint32_t unit = bytes[i] | bytes[i + 1] << 8, low;
			if (unit >= 0xd800 && unit < 0xdc00 && i + 3 < length) {
				low = bytes[i + 2] | bytes[i + 3] << 8;
				if (low >= 0xdc00 && low < 0xe000) {
					unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
					i += 2;
				}
			}
			size += put_point(out + size, unit);
		}
	else if (kind == 3)
		for (i = 0; i < length; i++) {
			out[size++] = digits[bytes[i] >> 4];
			out[size++] = digits[bytes[i] & 15];
		}
	else {
		for (i = 0; i < length; i += 3) {
			int rest = length - i < 3 ? (int)(length - i) : 3;
			uint32_t bits = bytes[i] << 16 | (rest > 1 ? bytes[i + 1] << 8 : 0) | (rest > 2 ? bytes[i + 2] : 0);
			for (int k = 0; k < 4; k++) {
				int index = bits >> (18 - 6 * k) & 63;
				if (k <= rest)
					out[size++] = index < 62 ? letters64[index] :
						(kind == 5 ? "-_" : "+/")[index - 62];
				else if (kind == 4)
					out[size++] = '=';
			}
		}
	}
	value = JS_NewStringLen(ctx, (const char *)out, size);
	js_free(ctx, out);
	return value;
}

/* textLength(text): in UTF-8 */
FN(textLength)
{
	size_t length;
	const char *text = JS_ToCStringLen(ctx, &length, argv[0]);
	JS_FreeCString(ctx, text);
	return JS_NewInt64(ctx, length);
}

/* whole(bytes, from, to): how many of them are no unfinished character at the end */
FN(whole)
{
	size_t length;
	const uint8_t *bytes = bytes_of(ctx, argv[0], &length);
	size_t end = length, back;
	for (back = 1; back <= 3 && back <= length; back++) {
		uint8_t byte = bytes[length - back];
		if (byte < 0x80)
			break;
		if (byte >= 0xc0) {
			int skip, need = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
			if (need > (int)back && byte >= 0xc2 && byte <= 0xf4) {
				valid_at(bytes + length - back, bytes + length, &skip);
				if (skip == (int)back)
					end = length - back;
			}
			break;
		}
	}
	return JS_NewInt64(ctx, end);
}

FN(isUtf8)
{
	size_t length;
	const uint8_t *bytes = bytes_of(ctx, argv[0], &length), *at = bytes;
	int skip, good;
	while (at < bytes + length && (good = valid_at(at, bytes + length, &skip)))
		at += good;
	return JS_NewBool(ctx, at == bytes + length);
}

FN(compareBytes)
{
	size_t one, two;
	const uint8_t *a = bytes_of(ctx, argv[0], &one), *b = bytes_of(ctx, argv[1], &two);
	int order = memcmp(a ? a : (uint8_t *)"", b ? b : (uint8_t *)"", one < two ? one : two);
	if (!order)
		order = one < two ? -1 : one > two;
	return JS_NewInt32(ctx, order < 0 ? -1 : order > 0);
}

/* find(bytes, needle, from, backwards?, step) */
FN(find)
{
	size_t size, length;
	const uint8_t *bytes = bytes_of(ctx, argv[0], &size), *needle = bytes_of(ctx, argv[1], &length);
	int64_t from = long_arg(ctx, argv[2]), step = int_arg(ctx, argv[4]), i;
	if (length > size)
		return JS_NewInt32(ctx, -1);
	if (!JS_ToBool(ctx, argv[3])) {
		for (i = from; i + (int64_t)length <= (int64_t)size; i++)
			if ((i - from) % step == 0 && (!length || !memcmp(bytes + i, needle, length)))
				return JS_NewInt64(ctx, i);
	} else {
		if (from > (int64_t)(size - length))
			from = size - length;
		for (i = from; i >= 0; i--)
			if ((!length || !memcmp(bytes + i, needle, length)))
				return JS_NewInt64(ctx, i);
	}
	return JS_NewInt32(ctx, -1);
}

/* headerEnd(bytes, from, to): where an empty line ends, or -1 */
FN(headerEnd)
{
	size_t length;
	const uint8_t *bytes = bytes_of(ctx, argv[0], &length);
	size_t i = long_arg(ctx, argv[1]), to = long_arg(ctx, argv[2]);
	if (to > length)
		to = length;
	for (; i < to; i++)
		if (bytes[i] == '\n') {
			if (i + 1 < to && bytes[i + 1] == '\n')
				return JS_NewInt64(ctx, i + 2);
			if (i + 2 < to && bytes[i + 1] == '\r' && bytes[i + 2] == '\n')
				return JS_NewInt64(ctx, i + 3);
		}
	return JS_NewInt32(ctx, -1);
}

FN(random_)
{
	size_t length, done = 0;
	uint8_t *bytes = bytes_of(ctx, argv[0], &length);
	while (done < length) {
		ssize_t count = getrandom(bytes + done, length - done > 256 ? 256 : length - done, 0);
		if (count > 0)
			done += count;
	}
	return JS_UNDEFINED;
}

FN(detach)
{
	JS_DetachArrayBuffer(ctx, argv[0]);
	return JS_UNDEFINED;
}

static const JSCFunctionListEntry entries[] = {
	DEF(encode, 2), DEF(decode, 4), DEF(textLength, 1), DEF(whole, 1), DEF(isUtf8, 1), DEF(compareBytes, 2),
	DEF(find, 5), DEF(headerEnd, 3), DEF(random_, 1), DEF(detach, 1),
};

void add_bytes(JSContext *ctx, JSValue sys)
{
	JS_SetPropertyFunctionList(ctx, sys, entries, COUNT(entries));
}
