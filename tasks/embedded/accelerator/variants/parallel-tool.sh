#!/bin/bash
# The tool has several numbers calculated at once, in any order, and reads all of its input before it copies.
set -euo pipefail
honest=$(mktemp -d)
cp -r /solution/. "$honest"
python3 - "$honest/user/kvarn.c" <<'PY'
import re, sys
path = sys.argv[1]
text = open(path).read()
text = text.replace('#include "kvarn.h"\n', '#include <pthread.h>\n#include "kvarn.h"\n')
new = '''struct sum {
	kvarn *handle;
	uint32_t n, out;
	int err;
};

static void *one(void *argument)
{
	struct sum *sum = argument;

	sum->err = kvarn_factorial(sum->handle, sum->n, &sum->out);
	return NULL;
}

static void all(kvarn *handle, int count, char **words)
{
	struct sum *sums = calloc(count, sizeof(*sums));
	pthread_t *threads = calloc(count, sizeof(*threads));
	int i, end, begin;

	for (begin = 0; begin < count; begin = end) {
		end = begin + 4 < count ? begin + 4 : count;
		for (i = end - 1; i >= begin; i--) {
			sums[i].handle = handle;
			sums[i].n = number(words[i], UINT32_MAX);
			if (pthread_create(&threads[i], NULL, one, &sums[i]))
				need(-EIO);
		}
		for (i = begin; i < end; i++) {
			pthread_join(threads[i], NULL);
			need(sums[i].err);
			printf("%" PRIu32 "\\n", sums[i].out);
			fflush(stdout);
		}
	}
}
'''
text, count = re.subn(r"(?ms)^static void all\(.*?^}\n", lambda _: new, text)
assert count == 1
new = '''static void copy(kvarn *handle)
{
	size_t have = 0, room = 65536, n;
	char *data = malloc(room);

	while (data && (n = fread(data + have, 1, room - have, stdin))) {
		have += n;
		if (have == room)
			data = realloc(data, room *= 2);
	}
	if (!data || ferror(stdin))
		need(-EIO);
	need(kvarn_copy(handle, data, data, have));
	emit(data, have);
}
'''
text, count = re.subn(r"(?ms)^static void copy\(.*?^}\n", lambda _: new, text)
assert count == 1
open(path, "w").write(text)
PY
bash "$honest/solve.sh"
