/* Digests, and the unpacking of gzip. */
#include "core.h"

static uint32_t rol(uint32_t word, int by)
{
	return word << by | word >> (32 - by);
}

static uint64_t ror64(uint64_t word, int by)
{
	return word >> by | word << (64 - by);
}

/* The constants of SHA-2 are the first bits of roots of primes: computed, and exact in whole numbers. */
static uint64_t k512[80], h512[8];
static uint32_t k256[64], h256[8], kmd5[64];

static uint64_t root_bits(unsigned prime, int degree)
{
	/* floor(prime^(1/degree) * 2^64) mod 2^64, by bisection over 128 bits and products of 256. */
	unsigned __int128 low = 0, high = (unsigned __int128)32 << 64;
	while (high - low > 1) {
		unsigned __int128 middle = low + (high - low) / 2;
		uint64_t m[2] = { (uint64_t)middle, (uint64_t)(middle >> 64) };
		uint64_t product[8] = { 1 };
		for (int times = 0; times < degree; times++) {
			uint64_t next[8] = { 0 };
			for (int i = 0; i < 6; i++) {
				uint64_t carry = 0;
				for (int j = 0; j < 2; j++) {
					unsigned __int128 sum = (unsigned __int128)product[i] * m[j] + next[i + j] + carry;
					next[i + j] = (uint64_t)sum;
					carry = sum >> 64;
				}
				next[i + 2] += carry;
			}
			memcpy(product, next, sizeof product);
		}
		int above = 0;
		for (int i = 7; i > degree && !above; i--)
			above = product[i] != 0;
		if (!above)
			above = product[degree] >= prime;
		if (above)
			high = middle;
		else
			low = middle;
	}
	return (uint64_t)low;
}

static double sine(double x)
{
	double term, sum;
	while (x > 3.141592653589793238)
		x -= 6.283185307179586477;
	term = sum = x;
	for (int i = 1; i < 20; i++) {
		term *= -x * x / ((2 * i) * (2 * i + 1));
		sum += term;
	}
	return sum < 0 ? -sum : sum;
}

static void constants(void)
{
	unsigned prime = 2;
	int count = 0;
	static int done;
	if (done)
		return;
	for (; count < 80; prime++) {
		int is = 1;
		for (unsigned i = 2; i * i <= prime; i++)
			if (prime % i == 0)
				is = 0;
		if (!is)
			continue;
		k512[count] = root_bits(prime, 3);
		if (count < 64)
			k256[count] = k512[count] >> 32;
		if (count < 8) {
			h512[count] = root_bits(prime, 2);
			h256[count] = h512[count] >> 32;
		}
		count++;
	}
	for (int i = 0; i < 64; i++)
		kmd5[i] = (uint32_t)(sine(i + 1) * 4294967296.0);
	done = 1;
}

struct digest {
	int kind;
	uint32_t words[8];
	uint64_t wide[8];
};

static void block512(struct digest *digest, const uint8_t *block)
{
	uint64_t w[80], v[8];
	for (int i = 0; i < 80; i++) {
		if (i < 16) {
			w[i] = 0;
			for (int k = 0; k < 8; k++)
				w[i] = w[i] << 8 | block[8 * i + k];
		} else
			w[i] = w[i - 16] + w[i - 7] + (ror64(w[i - 15], 1) ^ ror64(w[i - 15], 8) ^ w[i - 15] >> 7) +
				(ror64(w[i - 2], 19) ^ ror64(w[i - 2], 61) ^ w[i - 2] >> 6);
	}
	memcpy(v, digest->wide, sizeof v);
	for (int i = 0; i < 80; i++) {
		uint64_t one = v[7] + (ror64(v[4], 14) ^ ror64(v[4], 18) ^ ror64(v[4], 41)) +
			((v[4] & v[5]) ^ (~v[4] & v[6])) + k512[i] + w[i];
		uint64_t two = (ror64(v[0], 28) ^ ror64(v[0], 34) ^ ror64(v[0], 39)) +
			((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
		memmove(v + 1, v, 7 * sizeof v[0]);
		v[4] += one;
		v[0] = one + two;
	}
	for (int i = 0; i < 8; i++)
		digest->wide[i] += v[i];
}

static void block256(struct digest *digest, const uint8_t *block)
{
	uint32_t w[64], v[8];
	for (int i = 0; i < 64; i++)
		if (i < 16)
			w[i] = block[4 * i] << 24 | block[4 * i + 1] << 16 | block[4 * i + 2] << 8 | block[4 * i + 3];
		else
			w[i] = w[i - 16] + w[i - 7] + (rol(w[i - 15], 25) ^ rol(w[i - 15], 14) ^ w[i - 15] >> 3) +
				(rol(w[i - 2], 15) ^ rol(w[i - 2], 13) ^ w[i - 2] >> 10);
	memcpy(v, digest->words, sizeof v);
	for (int i = 0; i < 64; i++) {
		uint32_t one = v[7] + (rol(v[4], 26) ^ rol(v[4], 21) ^ rol(v[4], 7)) +
			((v[4] & v[5]) ^ (~v[4] & v[6])) + k256[i] + w[i];
		uint32_t two = (rol(v[0], 30) ^ rol(v[0], 19) ^ rol(v[0], 10)) +
			((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
		memmove(v + 1, v, 7 * sizeof v[0]);
		v[4] += one;
		v[0] = one + two;
	}
	for (int i = 0; i < 8; i++)
		digest->words[i] += v[i];
}

static void block1(struct digest *digest, const uint8_t *block)
{
	uint32_t w[80], a = digest->words[0], b = digest->words[1], c = digest->words[2], d = digest->words[3],
		e = digest->words[4];
	for (int i = 0; i < 80; i++) {
		uint32_t f, k, next;
		if (i < 16)
			w[i] = block[4 * i] << 24 | block[4 * i + 1] << 16 | block[4 * i + 2] << 8 | block[4 * i + 3];
		else
			w[i] = rol(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
		if (i < 20)
			f = (b & c) | (~b & d), k = 0x5a827999;
		else if (i < 40)
			f = b ^ c ^ d, k = 0x6ed9eba1;
		else if (i < 60)
			f = (b & c) | (b & d) | (c & d), k = 0x8f1bbcdc;
		else
			f = b ^ c ^ d, k = 0xca62c1d6;
		next = rol(a, 5) + f + e + k + w[i];
		e = d, d = c, c = rol(b, 30), b = a, a = next;
	}
	digest->words[0] += a, digest->words[1] += b, digest->words[2] += c, digest->words[3] += d,
		digest->words[4] += e;
}

static void block5(struct digest *digest, const uint8_t *block)
{
	static const uint8_t turns[16] = { 7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21 };
	uint32_t a = digest->words[0], b = digest->words[1], c = digest->words[2], d = digest->words[3], w[16];
	for (int i = 0; i < 16; i++)
		w[i] = block[4 * i] | block[4 * i + 1] << 8 | block[4 * i + 2] << 16 | (uint32_t)block[4 * i + 3] << 24;
	for (int i = 0; i < 64; i++) {
		uint32_t f, next;
		int g;
		if (i < 16)
			f = (b & c) | (~b & d), g = i;
		else if (i < 32)
			f = (d & b) | (~d & c), g = (5 * i + 1) & 15;
		else if (i < 48)
			f = b ^ c ^ d, g = (3 * i + 5) & 15;
		else
			f = c ^ (b | ~d), g = 7 * i & 15;
		next = d, d = c, c = b;
		b += rol(a + f + kmd5[i] + w[g], turns[i / 16 * 4 + i % 4]);
		a = next;
	}
	digest->words[0] += a, digest->words[1] += b, digest->words[2] += c, digest->words[3] += d;
}

/* digest(1 | 5 | 256 | 512, list of bytes) */
FN(digest)
{
	static const uint32_t first[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
	struct digest digest = { .kind = int_arg(ctx, argv[0]) };
	int wide = digest.kind == 512, size = wide ? 128 : 64, have = 0, i;
	void (*work)(struct digest *, const uint8_t *) = wide ? block512 : digest.kind == 256 ? block256 :
		digest.kind == 5 ? block5 : block1;
	uint8_t block[128], out[64];
	uint64_t total = 0;
	int64_t count = 0;
	constants();
	memcpy(digest.wide, h512, sizeof h512);
	memcpy(digest.words, digest.kind == 256 ? h256 : first, digest.kind == 256 ? 32 : 20);
	JSValue length = JS_GetPropertyStr(ctx, argv[1], "length");
	JS_ToInt64(ctx, &count, length);
	JS_FreeValue(ctx, length);
	for (int64_t n = 0; n < count; n++) {
		JSValue part = JS_GetPropertyUint32(ctx, argv[1], n);
		size_t left;
		const uint8_t *bytes = bytes_of(ctx, part, &left);
		total += left;
		while (left) {
			size_t take = (size_t)(size - have) < left ? (size_t)(size - have) : left;
			memcpy(block + have, bytes, take);
			have += take, bytes += take, left -= take;
			if (have == size) {
				work(&digest, block);
				have = 0;
			}
		}
		JS_FreeValue(ctx, part);
	}
	block[have++] = 0x80;
	if (have > size - (wide ? 16 : 8)) {
		memset(block + have, 0, size - have);
		work(&digest, block);
		have = 0;
	}
	memset(block + have, 0, size - have);
	for (i = 0; i < 8; i++)
		block[size - 8 + i] = digest.kind == 5 ? total * 8 >> 8 * i : total * 8 >> (56 - 8 * i);
	work(&digest, block);
	for (i = 0; i < 64; i++)
		out[i] = wide ? digest.wide[i / 8] >> (56 - i % 8 * 8) : i >= 32 ? 0 :
			digest.kind == 5 ? digest.words[i / 4] >> i % 4 * 8 : digest.words[i / 4] >> (24 - i % 4 * 8);
	return new_bytes(ctx, out, wide ? 64 : digest.kind == 256 ? 32 : digest.kind == 5 ? 16 : 20);
}

struct stream {
	JSContext *ctx;
	const uint8_t *in, *end;
	uint32_t bits;
	int have, bad;
	uint8_t *out;
	size_t size, room, most;
};

static uint32_t bits(struct stream *stream, int count)
{
	uint32_t value;
	while (stream->have < count) {
		if (stream->in == stream->end) {
			stream->bad = 1;
			return 0;
		}
		stream->bits |= (uint32_t)*stream->in++ << stream->have;
		stream->have += 8;
	}
	value = stream->bits & ((1u << count) - 1);
	stream->bits >>= count;
	stream->have -= count;
	return value;
}

static int put(struct stream *stream, uint8_t byte)
{
	if (stream->size == stream->room) {
		size_t room = stream->room ? 2 * stream->room : 65536;
		uint8_t *more;
		if (stream->size >= stream->most || !(more = js_realloc(stream->ctx, stream->out, room)))
			return stream->bad = 2;
		stream->out = more;
		stream->room = room;
	}
	stream->out[stream->size++] = byte;
	return 0;
}

struct code {
	uint16_t count[16], symbols[320];
};

static int prepare(struct code *code, const uint8_t *lengths, int number)
{
	uint16_t places[16] = { 0 };
	int left = 1;
	memset(code->count, 0, sizeof code->count);
	for (int i = 0; i < number; i++)
		code->count[lengths[i]]++;
	code->count[0] = 0;
	for (int i = 1; i < 16; i++) {
		left = 2 * left - code->count[i];
		if (left < 0)
			return -1;
		places[i] = places[i - 1] + code->count[i - 1];
	}
	for (int i = 0; i < number; i++)
		if (lengths[i])
			code->symbols[places[lengths[i]]++] = i;
	return 0;
}

static int symbol(struct stream *stream, const struct code *code)
{
	int value = 0, first = 0, place = 0;
	for (int length = 1; length < 16; length++) {
		value |= bits(stream, 1);
		if (stream->bad)
			return -1;
		if (value - code->count[length] < first)
			return code->symbols[place + value - first];
		place += code->count[length];
		first = (first + code->count[length]) << 1;
		value <<= 1;
	}
	stream->bad = 1;
	return -1;
}

static void inflate_codes(struct stream *stream, const struct code *literals, const struct code *distances)
{
	while (!stream->bad) {
		int code = symbol(stream, literals), extra, length, distance;
		if (code < 0 || code == 256)
			return;
		if (code < 256) {
			put(stream, code);
			continue;
		}
		code -= 257;
		if (code < 8)
			length = 3 + code;
		else if (code == 28)
			length = 258;
		else {
			extra = code / 4 - 1;
			length = 3 + ((4 + code % 4) << extra) + bits(stream, extra);
		}
		code = symbol(stream, distances);
		if (code < 0)
			return;
		if (code < 4)
			distance = 1 + code;
		else {
			extra = code / 2 - 1;
			distance = 1 + ((2 + code % 2) << extra) + bits(stream, extra);
		}
		if (code > 29 || (size_t)distance > stream->size) {
			stream->bad = 1;
			return;
		}
		while (length-- && !put(stream, stream->out[stream->size - distance]))
			;
	}
}

static void inflate_all(struct stream *stream)
{
	int last;
	do {
		uint8_t lengths[320] = { 0 };
		struct code literals, distances;
		int kind;
		last = bits(stream, 1);
		kind = bits(stream, 2);
		if (stream->bad)
			return;
		if (kind == 0) {
			stream->bits = stream->have = 0;
			int length = bits(stream, 16), other = bits(stream, 16);
			if (stream->bad || length != (other ^ 0xffff) || stream->end - stream->in < length) {
				stream->bad = 1;
				return;
			}
			while (length-- && !put(stream, *stream->in++))
				;
		} else if (kind == 1) {
			for (int i = 0; i < 288; i++)
				lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
			prepare(&literals, lengths, 288);
			memset(lengths, 5, 30);
			prepare(&distances, lengths, 30);
			inflate_codes(stream, &literals, &distances);
		} else if (kind == 2) {
			static const uint8_t order[19] = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 };
			int number = bits(stream, 5) + 257, far = bits(stream, 5) + 1, few = bits(stream, 4) + 4, i;
			for (i = 0; i < few; i++)
				lengths[order[i]] = bits(stream, 3);
			if (stream->bad || number > 286 || far > 30 || prepare(&literals, lengths, 19)) {
				stream->bad = 1;
				return;
			}
			memset(lengths, 0, sizeof lengths);
			for (i = 0; i < number + far && !stream->bad;) {
				int code = symbol(stream, &literals), times = 1, value = code;
				if (code == 16) {
					if (!i) {
						stream->bad = 1;
						return;
					}
					value = lengths[i - 1];
					times = 3 + bits(stream, 2);
				} else if (code == 17)
					value = 0, times = 3 + bits(stream, 3);
				else if (code == 18)
					value = 0, times = 11 + bits(stream, 7);
				if (code < 0 || i + times > number + far) {
					stream->bad = 1;
					return;
				}
				while (times--)
					lengths[i++] = value;
			}
			if (stream->bad || prepare(&literals, lengths, number) ||
			    prepare(&distances, lengths + number, far)) {
				stream->bad = 1;
				return;
			}
			inflate_codes(stream, &literals, &distances);
		} else
			stream->bad = 1;
	} while (!last && !stream->bad);
}

static uint32_t crc(const uint8_t *bytes, size_t length)
{
	uint32_t table[256], sum = ~0u;
	for (int i = 0; i < 256; i++) {
		table[i] = i;
		for (int k = 0; k < 8; k++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
	}
	while (length--)
		sum = table[(sum ^ *bytes++) & 255] ^ sum >> 8;
	return ~sum;
}

/* gunzip(bytes, most): bytes, or -1 if it is no gzip, -2 if it is more */
FN(gunzip)
{
	size_t length, at = 10;
	const uint8_t *bytes = bytes_of(ctx, argv[0], &length);
	struct stream stream = { .ctx = ctx, .most = long_arg(ctx, argv[1]) };
	uint32_t sum, size;
	int flags;
	if (length < 18 || bytes[0] != 0x1f || bytes[1] != 0x8b || bytes[2] != 8)
		return JS_NewInt32(ctx, -1);
	flags = bytes[3];
	if (flags & 4)
		at += 2 + (bytes[at] | bytes[at + 1] << 8);
	for (int bit = 8; bit <= 16; bit <<= 1)
		if (flags & bit) {
			while (at < length && bytes[at])
				at++;
			at++;
		}
	if (flags & 2)
		at += 2;
	if (at + 8 > length)
		return JS_NewInt32(ctx, -1);
	stream.in = bytes + at;
	stream.end = bytes + length;
	inflate_all(&stream);
	if (!stream.bad && stream.end - stream.in >= 8) {
		memcpy(&sum, stream.in, 4);
		memcpy(&size, stream.in + 4, 4);
		if (sum != crc(stream.out, stream.size) || size != (uint32_t)stream.size)
			stream.bad = 1;
	} else if (!stream.bad)
		stream.bad = 1;
	if (stream.bad) {
		js_free(ctx, stream.out);
		JS_FreeValue(ctx, JS_GetException(ctx));
		return JS_NewInt32(ctx, -stream.bad);
	}
	return own_bytes(ctx, stream.out ? stream.out : js_malloc(ctx, 1), stream.size);
}

static const JSCFunctionListEntry entries[] = { DEF(digest, 2), DEF(gunzip, 2) };

void add_digests(JSContext *ctx, JSValue sys)
{
	JS_SetPropertyFunctionList(ctx, sys, entries, COUNT(entries));
}
