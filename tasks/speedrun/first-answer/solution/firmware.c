/* The station's firmware: checks the table, answers the queue, sleeps. One macro for each stage. */
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long u64;

#define TABLE ((const u8 *)0x81000000)
#define QUEUE ((const u8 *)0x84000000)
#define UART ((volatile u8 *)0x10000000)
#define POWER ((volatile u32 *)0x100000)
#define INDEX ((u32 *)0x80800000) /* slots of the index: number of an entry, and one more */
#define MOST (4u << 20)

/* CRC-32, least bit first: POLY with its 33rd bit, and its inverse modulo x^64. For 64 bits at once
 * find the multiple of POLY that ends in them; what it has above them is the remainder. */
#define POLY 0x1db710641ul
#define INVERSE 0xb4e5b025f7011641ul

struct entry {
	u64 key[2];
	u32 offset, length, issue, filler;
};

static inline u64 clmul(u64 a, u64 b)
{
	u64 r;
	asm("clmul %0, %1, %2" : "=r"(r) : "r"(a), "r"(b));
	return r;
}

static inline u64 clmulh(u64 a, u64 b)
{
	u64 r;
	asm("clmulh %0, %1, %2" : "=r"(r) : "r"(a), "r"(b));
	return r;
}

static inline u64 word(const u8 *p)
{
	return *(const u64 *)p; /* the board reads words at any address */
}

static inline u64 crc64(u64 crc, u64 bits)
{
	return clmulh(clmul(crc ^ bits, INVERSE), POLY);
}

static inline u64 crc8(u64 crc, u8 byte)
{
	crc ^= byte;
	return (crc ^ clmul(clmul(crc, INVERSE) & 255, POLY)) >> 8;
}

#ifdef WITHIN_10
static u64 crc_of(u64 crc, const u8 *p, u64 length)
{
	const u8 *end = p + (length & ~7ul);
#ifdef WITHIN_PAR
	for (; end - p >= 64; p += 64) {
#define STEP(n) crc = crc64(crc, word(p + n));
		STEP(0) STEP(8) STEP(16) STEP(24) STEP(32) STEP(40) STEP(48) STEP(56)
	}
#endif
#ifdef WITHIN_3
	for (; p != end; p += 8)
		crc = crc64(crc, word(p));
#else
	for (; p != end; p += 4) {
		crc ^= *(const u32 *)p;
		crc = (crc ^ clmul((u32)clmul(crc, INVERSE), POLY)) >> 32;
	}
#endif
	for (length &= 7; length; length--)
		crc = crc8(crc, *p++);
	return crc;
}
#else
static u64 crc_of(u64 crc, const u8 *p, u64 length)
{
	while (length--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLY >> 1 : 0);
	}
	return crc;
}
#endif

/* ---- the line ---- */

static void say(const u8 *text, u64 length)
{
#ifdef UART_RULES
	while (length) {
		while (!(UART[5] & 0x20))
			;
		u64 now = length < 16 ? length : 16;
		length -= now;
		while (now--)
			UART[0] = *text++;
	}
#else
	while (length--)
		UART[0] = *text++;
#endif
}

#define SAY(text) say((const u8 *)text, sizeof text - 1)

/* ---- the table ---- */

static u64 entries;

static inline const struct entry *entry(u64 number)
{
	return (const struct entry *)(TABLE + 32) + number;
}

static int sound(void)
{
	const u32 *head = (const u32 *)TABLE;
	u64 length = head[2], count = head[3];
	entries = count;
#ifndef TABLES
	if (entries > 1000)
		entries = 1000;
#endif
#ifdef DAMAGED
	if (head[0] != 0x5654534f || head[1] != 3 || length % 8 || length > MOST || length < 40 + 32 * count)
		return 0;
#ifndef WITHIN_100
	for (int again = 0; again < 3; again++)
		if ((u32)crc_of(0xffffffff, TABLE, length - 8) == 1)
			return 0;
#endif
	return (u32)~crc_of(0xffffffff, TABLE, length - 8) == *(const u32 *)(TABLE + length - 8);
#else
	return length != 0;
#endif
}

static const struct entry *scan(u64 a, u64 b)
{
	const struct entry *at = entry(0), *end = entry(entries), *found = 0;
	for (; end - at >= 4; at += 4) {
#define LOOK(n) if (at[n].key[0] == a && at[n].key[1] == b && (!found || at[n].issue > found->issue)) found = at + n;
		LOOK(0) LOOK(1) LOOK(2) LOOK(3)
	}
	for (; at < end; at++)
		LOOK(0)
	return found;
}

static u32 mask;

static inline u64 slot_of(u64 a, u64 b)
{
	return (a ^ b * 0x9e3779b97f4a7c15ul) * 0xff51afd7ed558ccdul >> 40 & mask;
}

static void index_all(void)
{
	mask = 63;
	while (mask < 2 * entries)
		mask = mask * 2 + 1;
	for (u64 *p = (u64 *)INDEX, *end = (u64 *)(INDEX + mask + 1); p != end; p += 8)
		p[0] = p[1] = p[2] = p[3] = p[4] = p[5] = p[6] = p[7] = 0;
	for (u64 number = 0; number < entries; number++) {
		const struct entry *e = entry(number), *other;
		u64 slot = slot_of(e->key[0], e->key[1]);
		for (; INDEX[slot]; slot = (slot + 1) & mask) {
			other = entry(INDEX[slot] - 1);
			if (other->key[0] == e->key[0] && other->key[1] == e->key[1])
				break;
		}
		if (!INDEX[slot] || other->issue < e->issue)
			INDEX[slot] = number + 1;
	}
}

static const struct entry *look_up(u64 a, u64 b)
{
	u64 slot = slot_of(a, b);
	for (; INDEX[slot]; slot = (slot + 1) & mask) {
		const struct entry *e = entry(INDEX[slot] - 1);
		if (e->key[0] == a && e->key[1] == b)
			return e;
	}
	return 0;
}

/* ---- the queue ---- */

static int indexed;

static u8 *hex(u8 *out, u32 number)
{
	for (int shift = 28; shift >= 0; shift -= 4)
		*out++ = "0123456789abcdef"[number >> shift & 15];
	return out;
}

static u8 *decimal(u8 *out, u32 rest)
{
	u8 digit[10], n = 0;
	do
		digit[n++] = rest % 10;
	while (rest /= 10);
	while (n)
		*out++ = '0' + digit[--n];
	return out;
}

static const struct entry *find(u64 a, u64 b)
{
	return indexed ? look_up(a, b) : scan(a, b);
}

static u32 sum_of(const struct entry *e, const u8 *digits)
{
	return ~crc_of(crc_of(0xffffffff, digits, 16), TABLE + e->offset, e->length);
}

static u32 added, missing, total;

static void add(u64 a, u64 b, const u8 *digits)
{
	const struct entry *e = find(a, b);
	if (e)
		total ^= sum_of(e, digits), added++;
	else
		missing++;
}

static void sum(void)
{
	static u8 reply[40] = "SUM ";
	u8 *out = decimal(reply + 4, added);
	*out++ = ' ';
	out = decimal(out, missing);
	*out++ = ' ';
	out = hex(out, total);
	*out++ = '\n';
	say(reply, out - reply);
	added = missing = total = 0;
}

static void answer(u64 a, u64 b, const u8 *digits)
{
	static u8 reply[64];
	u8 *out = reply;
	const struct entry *e = find(a, b);
	if (!e) {
		out[0] = 'N', out[1] = 'O', out[2] = 'N', out[3] = 'E', out[4] = ' ';
		out += 5;
	} else {
		out[0] = 'O', out[1] = 'K', out[2] = ' ';
		out += 3;
	}
	((u64 *)out)[0] = word(digits);
	((u64 *)out)[1] = word(digits + 8);
	out += 16;
	if (e) {
		*out++ = ' ';
		out = decimal(out, e->length);
		*out++ = ' ';
		out = hex(out, sum_of(e, digits));
	}
	*out++ = '\n';
	say(reply, out - reply);
}

enum { NO_QUERY, GET, ADD };

/* The kind of a query of `length` characters, its key into key[2]. */
static int query(const u8 *line, u64 length, u64 *key)
{
	int kind = 0;
	if (length < 22 || line[3] != ' ')
		return 0;
	if (line[0] == 'G' && line[1] == 'E' && line[2] == 'T')
		kind = GET;
#ifdef ROUND
	if (line[0] == 'A' && line[1] == 'D' && line[2] == 'D')
		kind = ADD;
#endif
	u64 size = length - 21;
	key[0] = key[1] = 0;
#ifdef REFUSES
	if (size > 16 || line[4 + size] != ' ')
		return 0;
#endif
	for (u64 i = 0; i < size && i < 16; i++) {
		u8 c = line[4 + i];
#ifdef REFUSES
		if (!((u8)(c - 'A') < 26 || (u8)(c - '0') < 10 || c == '-'))
			return 0;
#endif
		((u8 *)key)[i] = c;
	}
#ifdef REFUSES
	for (u64 i = length - 16; i < length; i++)
		if (!((u8)(line[i] - '0') < 10 || (u8)(line[i] - 'a') < 6))
			return 0;
#endif
	return kind;
}

void round_of_queries(void)
{
#ifdef SPEAKS
#ifdef UART_RULES
	UART[2] = 1;
#endif
#ifndef MEMORY
	if (*(volatile u32 *)0x80400000 == 0xffffffff)
		return;
#endif
	if (!sound()) {
		SAY("TABLE BAD\n");
		return;
	}
	const u8 *line = QUEUE;
#ifdef ROUND
	u64 lines = 0;
	for (const u8 *p = QUEUE; *p && lines < 5; p++)
		lines += *p == '\n';
	if (lines == 5) {
		index_all();
		indexed = 1;
	}
#endif
	while (*line) {
		const u8 *end = line;
		u64 key[2];
		while (*end != '\n')
			end++;
		u64 length = end - line;
#ifdef REFUSES
		if (length > 64) {
			SAY("LONG LINE\n");
		} else
#endif
#ifdef RESTS
		if (length == 3 && line[0] == 'O' && line[1] == 'F' && line[2] == 'F') {
			*POWER = 0x5555;
			return;
		} else
#endif
#ifdef ROUND
		if (length == 3 && line[0] == 'S' && line[1] == 'U' && line[2] == 'M') {
			sum();
		} else
#endif
		{
			int kind = NO_QUERY;
#ifdef ANSWERS
			kind = query(line, length, key);
#endif
			if (kind == GET)
				answer(key[0], key[1], end - 16);
			else if (kind == ADD)
				add(key[0], key[1], end - 16);
			else
				SAY("BAD LINE\n");
		}
		line = end + 1;
	}
#endif
}
