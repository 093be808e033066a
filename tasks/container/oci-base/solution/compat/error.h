/* What the program takes from glibc, for musl. */
#include <string.h>
#include <stdarg.h>
#include <stdlib.h>
#include <errno.h>
#include <stdio.h>

#define canonicalize_file_name(path) realpath(path, NULL)

static inline void error(int status, int number, const char *format, ...)
{
	va_list list;

	fflush(stdout);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fprintf(stderr, number ? ": %s\n" : "\n", strerror(number));
	exit(status);
}
