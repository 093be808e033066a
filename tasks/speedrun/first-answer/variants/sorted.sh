#!/bin/bash
# Not hashed but sorted, and searched by halves.
set -eu
cp -r /solution /tmp/otherwise
cd /tmp/otherwise
python3 - <<'PY'
text = open("firmware.c").read()
start, end = text.index("static void index_all(void)"), text.index("/* ---- the queue ---- */")
new = """static int before(u32 a, u32 b)
{
	const struct entry *x = entry(a), *y = entry(b);
	if (x->key[0] != y->key[0])
		return x->key[0] < y->key[0];
	if (x->key[1] != y->key[1])
		return x->key[1] < y->key[1];
	return x->issue > y->issue;
}

/* Merged from runs of one, two, four … ; the numbers end up in INDEX. */
static void index_all(void)
{
	u32 *from = INDEX, *to = INDEX + 0x20000;
	for (u32 n = 0; n < entries; n++)
		from[n] = n;
	for (u64 run = 1; run < entries; run *= 2) {
		for (u64 at = 0; at < entries; at += 2 * run) {
			u64 a = at, middle = at + run < entries ? at + run : entries, b = middle;
			u64 last = at + 2 * run < entries ? at + 2 * run : entries;
			for (u64 out = at; out < last; out++)
				to[out] = a < middle && (b == last || !before(from[b], from[a])) ? from[a++] : from[b++];
		}
		u32 *other = from;
		from = to;
		to = other;
	}
	mask = from != INDEX;
}

static const struct entry *look_up(u64 a, u64 b)
{
	const u32 *sorted = INDEX + (mask ? 0x20000 : 0);
	u64 low = 0, high = entries;
	while (low < high) {
		u64 middle = (low + high) / 2;
		const struct entry *e = entry(sorted[middle]);
		if (e->key[0] < a || (e->key[0] == a && e->key[1] < b))
			low = middle + 1;
		else
			high = middle;
	}
	const struct entry *e = entry(sorted[low]);
	return low < entries && e->key[0] == a && e->key[1] == b ? e : 0;
}

"""
open("firmware.c", "w").write(text[:start] + new + text[end:])
PY
bash solve.sh
