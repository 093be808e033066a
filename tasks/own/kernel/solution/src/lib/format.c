/* Formatted text: %d %u %x %c %s %p with l, widths, zero padding, '-' and precision for strings. */
#include "base.h"

struct out { char *at; size_t room; size_t n; };

static void put(struct out *o, char c)
{
	if (o->n + 1 < o->room)
		o->at[o->n] = c;
	o->n++;
}

static void put_field(struct out *o, const char *s, size_t n, int width, bool left, char pad)
{
	int fill = width > (int)n ? width - (int)n : 0;
	if (!left) {
		if (pad == '0' && n && *s == '-') {
			put(o, '-');
			s++;
			n--;
		}
		for (; fill; fill--)
			put(o, pad);
	}
	while (n--)
		put(o, *s++);
	for (; fill; fill--)
		put(o, ' ');
}

int format_list(char *to, size_t room, const char *fmt, __builtin_va_list args)
{
	struct out o = { to, room, 0 };
	for (; *fmt; fmt++) {
		if (*fmt != '%') {
			put(&o, *fmt);
			continue;
		}
		bool left = false, wide = false;
		char pad = ' ';
		int width = 0, precision = -1;
		for (fmt++; *fmt == '-' || *fmt == '0'; fmt++)
			*fmt == '-' ? (left = true) : (pad = '0');
		if (*fmt == '*') {
			width = __builtin_va_arg(args, int);
			fmt++;
		}
		for (; *fmt >= '0' && *fmt <= '9'; fmt++)
			width = width * 10 + *fmt - '0';
		if (*fmt == '.') {
			precision = 0;
			fmt++;
			if (*fmt == '*') {
				precision = __builtin_va_arg(args, int);
				fmt++;
			}
			for (; *fmt >= '0' && *fmt <= '9'; fmt++)
				precision = precision * 10 + *fmt - '0';
		}
		for (; *fmt == 'l' || *fmt == 'z'; fmt++)
			wide = true;
		char digits[24];
		int i = sizeof digits;
		switch (*fmt) {
		case 'd': case 'u': case 'x': case 'o': case 'p': {
			u64 base = *fmt == 'x' || *fmt == 'p' ? 16 : *fmt == 'o' ? 8 : 10, v;
			bool negative = false;
			if (*fmt == 'p')
				wide = true;
			if (*fmt == 'd') {
				i64 s = wide ? __builtin_va_arg(args, i64) : __builtin_va_arg(args, int);
				negative = s < 0;
				v = negative ? -(u64)s : s;
			} else
				v = wide ? __builtin_va_arg(args, u64) : __builtin_va_arg(args, u32);
			do
				digits[--i] = "0123456789abcdef"[v % base];
			while (v /= base);
			if (negative)
				digits[--i] = '-';
			put_field(&o, digits + i, sizeof digits - i, width, left, pad);
			break;
		}
		case 'c':
			digits[0] = __builtin_va_arg(args, int);
			put_field(&o, digits, 1, width, left, ' ');
			break;
		case 's': {
			const char *s = __builtin_va_arg(args, const char *);
			put_field(&o, s, precision >= 0 ? strnlen(s, precision) : strlen(s), width, left, ' ');
			break;
		}
		case 0:
			fmt--;
			break;
		default:
			put(&o, *fmt);
		}
	}
	if (room)
		to[MIN(o.n, room - 1)] = 0;
	return o.n;
}

int format(char *to, size_t room, const char *fmt, ...)
{
	__builtin_va_list args;
	__builtin_va_start(args, fmt);
	int n = format_list(to, room, fmt, args);
	__builtin_va_end(args);
	return n;
}
