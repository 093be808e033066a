/* SHA-256, and the proof of a part: that of the salt, the part's name and what was mixed in. */
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long u64;
typedef long i64;

struct sha256 { u32 h[8]; u8 block[64]; u64 length; };

static const u32 sha_k[64] = {
0x428a2f98,0x71374491,0xb5c0fbcf,0xe9b5dba5,0x3956c25b,0x59f111f1,0x923f82a4,0xab1c5ed5,0xd807aa98,0x12835b01,0x243185be,0x550c7dc3,0x72be5d74,0x80deb1fe,0x9bdc06a7,0xc19bf174,
0xe49b69c1,0xefbe4786,0x0fc19dc6,0x240ca1cc,0x2de92c6f,0x4a7484aa,0x5cb0a9dc,0x76f988da,0x983e5152,0xa831c66d,0xb00327c8,0xbf597fc7,0xc6e00bf3,0xd5a79147,0x06ca6351,0x14292967,
0x27b70a85,0x2e1b2138,0x4d2c6dfc,0x53380d13,0x650a7354,0x766a0abb,0x81c2c92e,0x92722c85,0xa2bfe8a1,0xa81a664b,0xc24b8b70,0xc76c51a3,0xd192e819,0xd6990624,0xf40e3585,0x106aa070,
0x19a4c116,0x1e376c08,0x2748774c,0x34b0bcb5,0x391c0cb3,0x4ed8aa4a,0x5b9cca4f,0x682e6ff3,0x748f82ee,0x78a5636f,0x84c87814,0x8cc70208,0x90befffa,0xa4506ceb,0xbef9a3f7,0xc67178f2};

static void sha_block(struct sha256 *s, const u8 *p)
{
	u32 w[64], a[8];
	for (int i = 0; i < 16; i++)
		w[i] = (u32)p[4 * i] << 24 | p[4 * i + 1] << 16 | p[4 * i + 2] << 8 | p[4 * i + 3];
#define ROT(x, n) ((x) >> (n) | (x) << (32 - (n)))
	for (int i = 16; i < 64; i++)
		w[i] = w[i - 16] + w[i - 7] + (ROT(w[i - 15], 7) ^ ROT(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (ROT(w[i - 2], 17) ^ ROT(w[i - 2], 19) ^ w[i - 2] >> 10);
	for (int i = 0; i < 8; i++)
		a[i] = s->h[i];
	for (int i = 0; i < 64; i++) {
		u32 t1 = a[7] + (ROT(a[4], 6) ^ ROT(a[4], 11) ^ ROT(a[4], 25)) + ((a[4] & a[5]) ^ (~a[4] & a[6])) + sha_k[i] + w[i];
		u32 t2 = (ROT(a[0], 2) ^ ROT(a[0], 13) ^ ROT(a[0], 22)) + ((a[0] & a[1]) ^ (a[0] & a[2]) ^ (a[1] & a[2]));
		a[7] = a[6]; a[6] = a[5]; a[5] = a[4]; a[4] = a[3] + t1;
		a[3] = a[2]; a[2] = a[1]; a[1] = a[0]; a[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		s->h[i] += a[i];
}

static void sha_begin(struct sha256 *s)
{
	static const u32 start[8] = {0x6a09e667,0xbb67ae85,0x3c6ef372,0xa54ff53a,0x510e527f,0x9b05688c,0x1f83d9ab,0x5be0cd19};
	for (int i = 0; i < 8; i++)
		s->h[i] = start[i];
	s->length = 0;
}

static void sha_add(struct sha256 *s, const void *data, u64 n)
{
	const u8 *p = data;
	while (n--) {
		s->block[s->length++ % 64] = *p++;
		if (s->length % 64 == 0)
			sha_block(s, s->block);
	}
}

/* The first eight bytes as 16 hexadecimal digits. */
static void sha_end(struct sha256 *s, char *out)
{
	u64 bits = s->length * 8;
	u8 one = 0x80, zero = 0, size[8];
	sha_add(s, &one, 1);
	while (s->length % 64 != 56)
		sha_add(s, &zero, 1);
	for (int i = 0; i < 8; i++)
		size[i] = bits >> (56 - 8 * i);
	sha_add(s, size, 8);
	for (int i = 0; i < 16; i++)
		out[i] = "0123456789abcdef"[s->h[i / 8] >> (28 - 4 * (i % 8)) & 15];
	out[16] = 0;
}

/* Other bytes in each verification. */
static volatile u8 salt[32] __attribute__((used)) = "<the salt of this verification!>";
