/* Memory and strings. */
#include "base.h"

void *memcpy(void *to, const void *from, size_t n)
{
	void *d = to;
	size_t words = n / 8, tail = n % 8;
	asm volatile("rep movsq" : "+D"(d), "+S"(from), "+c"(words) : : "memory");
	asm volatile("rep movsb" : "+D"(d), "+S"(from), "+c"(tail) : : "memory");
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	if (to <= from || (char *)to >= (char *)from + n)
		return memcpy(to, from, n);
	char *d = (char *)to + n - 1;
	const char *s = (const char *)from + n - 1;
	asm volatile("std; rep movsb; cld" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
	return to;
}

void *memset(void *to, int byte, size_t n)
{
	void *d = to;
	u64 word = (u8)byte * 0x0101010101010101UL;
	size_t words = n / 8, tail = n % 8;
	asm volatile("rep stosq" : "+D"(d), "+c"(words) : "a"(word) : "memory");
	asm volatile("rep stosb" : "+D"(d), "+c"(tail) : "a"(word) : "memory");
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const u8 *x = a, *y = b;
	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

size_t strlen(const char *s)
{
	size_t n = 0;
	while (s[n])
		n++;
	return n;
}

size_t strnlen(const char *s, size_t max)
{
	size_t n = 0;
	while (n < max && s[n])
		n++;
	return n;
}

int strcmp(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	return (u8)*a - (u8)*b;
}

int strncmp(const char *a, const char *b, size_t n)
{
	for (; n && *a && *a == *b; a++, b++, n--)
		;
	return n ? (u8)*a - (u8)*b : 0;
}

char *strchr(const char *s, int c)
{
	for (;; s++) {
		if (*s == (char)c)
			return (char *)s;
		if (!*s)
			return NULL;
	}
}

void copy_string(char *to, const char *from, size_t room)
{
	size_t n = strnlen(from, room - 1);
	memcpy(to, from, n);
	to[n] = 0;
}

u64 parse_number(const char *s, const char **end)
{
	u64 v = 0;
	int base = 10;
	if (s[0] == '0' && s[1] == 'x') {
		base = 16;
		s += 2;
	}
	for (;; s++) {
		int d = *s >= '0' && *s <= '9' ? *s - '0' : (*s | 32) >= 'a' && (*s | 32) <= 'f' ? (*s | 32) - 'a' + 10 : 99;
		if (d >= base)
			break;
		v = v * base + d;
	}
	if (end)
		*end = s;
	return v;
}
