/* The box's server: DHCP, ARP, ping, queries over UDP, files over HTTP/1.0. It asks its devices in
 * turn and needs no interrupt. One macro for each stage. */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define PACKED __attribute__((packed))
#define EARLY __attribute__((section(".text.early"))) /* lies in what the first sector has left */

#ifdef SEVERAL
#define SLOTS 64
#else
#define SLOTS 1
#endif
#define SECOND(n) ((n) * 27 / 8) /* a tick is 2^20 cycles of the power management's clock: 0.293 s */
#define FLIGHT 4096              /* bytes of a connection that wait to be acknowledged */
#define PIECE 512
#define LONGEST_FILE (256 << 10)
#define LONGEST_REQUEST 1024
#define SECTORS (8u << 10) /* of the longest catalogue */

/* ---- ports ---- */

static inline void outb(u16 port, u8 v) { asm volatile("outb %0, %1" : : "a"(v), "Nd"(port)); }
static inline void outw(u16 port, u16 v) { asm volatile("outw %0, %1" : : "a"(v), "Nd"(port)); }
static inline void outl(u16 port, u32 v) { asm volatile("outl %0, %1" : : "a"(v), "Nd"(port)); }

static inline u8 inb(u16 port)
{
	u8 v;
	asm volatile("inb %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

static inline u16 inw(u16 port)
{
	u16 v;
	asm volatile("inw %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

static inline u32 inl(u16 port)
{
	u32 v;
	asm volatile("inl %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

static inline void *copy(void *to, const void *from, u32 n)
{
	asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	return to;
}

static inline void *fill(void *to, u8 value, u32 n)
{
	asm volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(value) : "memory");
	return to;
}

static int same(const void *a, const void *b, u32 n)
{
	const u8 *p = a, *q = b;
	while (n--)
		if (*p++ != *q++)
			return 0;
	return 1;
}

static inline u16 be16(u16 v) { return __builtin_bswap16(v); }
static inline u32 be32(u32 v) { return __builtin_bswap32(v); }

/* ---- time ---- */

static u64 cycles;
static u32 now;

static void look_at_the_clock(void)
{
	static u32 last;
	u32 clock = inl(0x608);
	cycles += (clock - last) & 0xffffff;
	last = clock;
	now = cycles >> 20;
}

/* ---- frames ---- */

#define ARP 0x0608
#define IPV4 0x0008
enum { ICMP = 1, TCP = 6, UDP = 17 };
enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16 };

struct frame {
	u8 virtio[10];
	u8 to[6], from[6];
	u16 kind;
	union {
		struct PACKED {
			u8 form[6];
			u16 operation;
			u8 mac[6];
			u32 address;
			u8 target_mac[6];
			u32 target;
		} arp;
		struct PACKED {
			u8 version, service;
			u16 size, id, fragment;
			u8 hops, protocol;
			u16 sum;
			u32 source, target;
			union {
				struct PACKED {
					u8 kind, code;
					u16 sum;
				} icmp;
				struct PACKED {
					u16 port, to, size, sum;
					u8 data[1];
				} udp;
				struct PACKED {
					u16 port, to;
					u32 sequence, acknowledged;
					u8 head, flags;
					u16 window, sum, urgent;
					u8 data[PIECE];
				} tcp;
			};
		} ip;
	};
} PACKED;

#define ETHERNET 14
#define BEFORE 34 /* Ethernet's head and IP's */

static u16 sum(u32 total, const void *data, u32 n)
{
	const u16 *p = data;
	for (; n > 1; n -= 2)
		total += *p++;
	if (n)
		total += *(const u8 *)p;
	while (total >> 16)
		total = (total & 0xffff) + (total >> 16);
	return ~total;
}

/* Of UDP and TCP, addresses included; `size` is what lies behind IP's head. */
static u16 sum_of(const struct frame *f, u32 size)
{
	return sum(be16(f->ip.protocol + size), &f->ip.source, 8 + size);
}

/* ---- the card ---- */

#define RING 256 /* entries, of each queue of the card */

struct queue {
	struct {
		u64 address;
		u32 size;
		u16 flags, next;
	} entry[RING];
	struct {
		u16 flags, index, ring[RING];
	} given;
	u8 gap[4096 - 4 - 2 * RING];
	struct {
		u16 flags, index;
		struct {
			u32 entry, size;
		} ring[RING];
	} used;
} __attribute__((aligned(4096)));

static struct queue queues[2];
static u8 buffers[RING][2048];
static u16 card;
static u8 mac[6];

#define BARRIER asm volatile("" : : : "memory")

static void hand_over(u32 n, u16 entry)
{
	struct queue *q = queues + n;
	q->given.ring[q->given.index % RING] = entry;
	BARRIER;
	q->given.index++;
	BARRIER;
	outw(card + 16, n);
}

static void send(struct frame *f, u32 size)
{
	struct queue *q = queues + 1;
	copy(f->from, mac, 6);
	q->entry[0].address = (u32)f;
	q->entry[0].size = 10 + size;
	hand_over(1, 0);
	while (((volatile struct queue *)q)->used.index != q->given.index)
		;
}

EARLY static u32 pci(u32 slot, u32 at)
{
	outl(0xcf8, 0x80000000 | slot << 11 | at);
	return inl(0xcfc);
}

EARLY static void find_card(void)
{
	u32 slot = 0, n;
	while (pci(slot, 0) != 0x10001af4)
		slot++;
	card = pci(slot, 16) & ~3;
	pci(slot, 4);
	outl(0xcfc, 5); /* answers to ports, reads and writes memory */
	outb(card + 18, 0);
	outb(card + 18, 3);
	outl(card + 4, 0);
	for (n = 0; n < 2; n++) {
		outw(card + 14, n);
		outl(card + 8, (u32)(queues + n) >> 12);
	}
	outb(card + 18, 7);
	for (n = 0; n < 6; n++)
		mac[n] = inb(card + 20 + n);
	for (n = 0; n < RING; n++) {
		queues[0].entry[n].address = (u32)buffers[n];
		queues[0].entry[n].size = sizeof buffers[n];
		queues[0].entry[n].flags = 2; /* the card writes */
		hand_over(0, n);
	}
}

/* ---- the catalogue ---- */

struct entry {
	u8 name[20];
	u32 first, length, sum;
};

static struct PACKED {
	u32 magic, count, sectors, sum;
	u8 anything[496];
	struct entry entry[(SECTORS - 1) * 512 / 32];
} catalogue;
static u8 damaged;
static const u8 *value; /* of the file that was looked for last */
static u32 length;

static u32 crc(u32 sum, const void *data, u32 n)
{
	const u8 *p = data;
	while (n--) {
		sum ^= *p++;
		for (u32 bit = 8; bit; bit--)
			sum = sum >> 1 ^ (sum & 1 ? 0xedb88320 : 0);
	}
	return sum;
}

static void read_catalogue(void)
{
	u16 *to = (u16 *)&catalogue;
	u32 sector = 0;
	do {
		outb(0x1f6, 0xf0);
		outb(0x1f2, 1);
		outb(0x1f3, sector);
		outb(0x1f4, sector >> 8);
		outb(0x1f5, 0);
		outb(0x1f7, 0x20);
		while (inb(0x1f7) & 0x80)
			;
		if (!(inb(0x1f7) & 8))
			break; /* a damaged head may promise more than the disk has */
		u32 words = 256;
		asm volatile("rep insw" : "+D"(to), "+c"(words) : "d"(0x1f0) : "memory");
		if (catalogue.sectors > SECTORS)
			break;
	} while (++sector < catalogue.sectors);
#ifdef DAMAGED
	damaged = 1;
	if (catalogue.magic == 0x54414b53 && catalogue.sectors - 1 < SECTORS
	    && catalogue.count <= (catalogue.sectors - 1) * 16)
		damaged = catalogue.sum != ~crc(crc(-1, &catalogue, 12), catalogue.entry, catalogue.count * 32);
#endif
}

/* 200, 404 or 500 of the file with this name. */
static u32 look_for(const u8 *name, u32 n)
{
	u8 padded[20];
	fill(padded, 0, 20);
	copy(padded, name, n);
	if (damaged)
		return 500;
	if (!name[n - 1]) /* padded, it would be a shorter name */
		return 404;
	const struct entry *e = catalogue.entry;
	for (u32 left = catalogue.count; left; left--, e++)
		if (same(e->name, padded, 20)) {
			value = (u8 *)&catalogue + e->first * 512;
			length = e->length;
#ifdef DAMAGED
			if (~crc(-1, value, length) != e->sum)
				return 500;
#endif
			return 200;
		}
	return 404;
}

static u8 *decimal(u8 *to, u32 n)
{
	if (n > 9)
		to = decimal(to, n / 10);
	*to = '0' + n % 10;
	return to + 1;
}

/* ---- what goes out ---- */

static struct frame out;
static u32 address;

/* An IP packet with `size` bytes behind its head, UDP or TCP with its sum at `place`. */
static void send_ip(struct frame *f, u32 size, u16 *place)
{
	f->kind = IPV4;
	f->ip.version = 0x45;
	f->ip.service = 0;
	f->ip.size = be16(20 + size);
	f->ip.fragment = 0;
	f->ip.hops = 64;
	f->ip.sum = 0;
	f->ip.source = address;
	f->ip.sum = sum(0, &f->ip, 20);
	*place = 0;
	*place = f->ip.protocol == ICMP ? sum(0, &f->ip.icmp, size) : sum_of(f, size);
	send(f, BEFORE + size);
}

/* To whom a frame came from. */
static void answer(struct frame *f, u32 size, u16 *place)
{
	copy(f->to, f->from, 6);
	f->ip.target = f->ip.source;
	send_ip(f, size, place);
}

/* ---- DHCP ---- */

enum { DISCOVER = 1, OFFER, REQUEST, DECLINE, ACKNOWLEDGE, REFUSE, RELEASE };

struct PACKED dhcp {
	u8 operation, type, bytes, hops;
	u32 number;
	u16 seconds, flags;
	u32 current, yours, next, relay;
	u8 mac[16], names[192];
	u32 cookie;
	u8 option[64];
};

static u8 saying; /* DISCOVER until there is an offer, then REQUEST */
static u32 number, offered, server, said_at, asked_at, lease;

static void say(u8 kind)
{
	struct dhcp *m = (struct dhcp *)out.ip.udp.data;
	fill(&out, 0, sizeof out);
	fill(out.to, 0xff, 6);
	out.ip.protocol = UDP;
	out.ip.target = -1;
	out.ip.udp.port = be16(68);
	out.ip.udp.to = be16(67);
	out.ip.udp.size = be16(8 + sizeof *m);
	m->operation = m->type = 1;
	m->bytes = 6;
	m->number = number;
	m->flags = 0x80;
	m->current = address;
	copy(m->mac, mac, 6);
	m->cookie = 0x63538263;
	u8 *o = m->option;
	*o++ = 53;
	*o++ = 1;
	*o++ = kind;
	if (kind != DISCOVER && (!address || kind == RELEASE)) {
		*o++ = 54;
		*o++ = 4;
		o = copy(o, &server, 4);
	}
	if (kind == REQUEST && !address) {
		*o++ = 50;
		*o++ = 4;
		o = copy(o, &offered, 4);
	}
	*o = 255;
	said_at = now;
	send_ip(&out, 8 + sizeof *m, &out.ip.udp.sum);
}

static void start_over(void)
{
	address = 0;
	number = cycles;
	saying = DISCOVER;
	say(DISCOVER);
}

static void heard_dhcp(const struct frame *f, const u8 *end)
{
	const struct dhcp *m = (const struct dhcp *)f->ip.udp.data;
	u32 seconds = 1 << 24, from = 0;
	u8 kind = 0;
#ifdef HOSTILE
	if (m->operation != 2 || m->number != number || !same(m->mac, mac, 6) || m->cookie != 0x63538263)
		return;
#endif
	for (const u8 *o = m->option; o + 1 < end && *o != 255;) {
		if (!*o) {
			o++;
			continue;
		}
		const u8 *v = o + 2;
		if (v + o[1] > end)
			return;
		if (*o == 53)
			kind = *v;
		if (*o == 54)
			from = *(u32 *)v;
		if (*o == 51)
			seconds = be32(*(u32 *)v);
		o = v + o[1];
	}
	if (kind == OFFER && saying == DISCOVER) {
		saying = REQUEST;
		offered = m->yours;
		server = from;
		asked_at = now;
		say(REQUEST);
	}
#ifdef HOSTILE
	if (saying == DISCOVER || from != server)
		return;
#endif
#ifdef LEASE
	if (kind == REFUSE)
		start_over();
#endif
	if (kind == ACKNOWLEDGE) {
		lease = SECOND(seconds >> 24 ? 1 << 24 : seconds);
		asked_at = now;
		address = m->yours;
	}
}

static void keep_the_address(void)
{
#ifdef LEASE
	if (now - asked_at > (address ? lease : 40) && saying == REQUEST)
		start_over();
#endif
	if (now - said_at < 7)
		return;
	if (!address)
		say(saying);
#ifdef LEASE
	else if (now - asked_at > lease / 2)
		say(REQUEST);
#endif
}

/* ---- queries ---- */

static void heard_query(struct frame *f, u32 size)
{
	u8 *data = f->ip.udp.data, *to = data, digits[16];
	size -= 8;
	if (size < 22 || size > 41 || !same(data, "SUM ", 4))
		return;
	copy(digits, data + size - 16, 16);
	u32 n = size - 21;
	for (u32 i = 4; i < size; i++)
		if ((data[i] == ' ') != (i == 4 + n))
			return;
	u32 status = look_for(data + 4, n);
#ifndef REFUSES
	if (status == 404)
		return;
#endif
	to = copy(to, status == 200 ? "OK " : status == 404 ? "NONE " : "BAD ", status == 200 ? 3 : status == 404 ? 5 : 4);
	to = copy(to, digits, 16);
	if (status == 200) {
		*to++ = ' ';
		to = decimal(to, length);
		*to++ = ' ';
		u32 c = ~crc(crc(-1, digits, 16), value, length);
		for (n = 8; n; n--) {
			u8 digit = c >> 28;
			*to++ = digit + (digit > 9 ? 'a' - 10 : '0');
			c <<= 4;
		}
	}
	size = to - (u8 *)&f->ip.udp;
	u16 port = f->ip.udp.port;
	f->ip.udp.port = f->ip.udp.to;
	f->ip.udp.to = port;
	f->ip.udp.size = be16(size);
	answer(f, size, &f->ip.udp.sum);
}

/* ---- connections ---- */

/* Places in what is sent count from its first byte; the FIN behind it counts as one. */
static struct slot {
	u32 peer, base, expected, done, next, total, window, heard, sent, asked;
	u16 port;
	u8 mac[6];
	u8 request[LONGEST_REQUEST + 4], reply[LONGEST_FILE + 64];
} slots[SLOTS];

static void put(struct slot *s, u8 flags, u32 n)
{
	out.ip.protocol = TCP;
	copy(out.to, s->mac, 6);
	out.ip.target = s->peer;
	out.ip.tcp.port = be16(80);
	out.ip.tcp.to = s->port;
	out.ip.tcp.sequence = be32(s->base + s->next);
	out.ip.tcp.acknowledged = be32(s->expected);
	out.ip.tcp.head = 0x50;
	out.ip.tcp.flags = flags;
	out.ip.tcp.window = be16(LONGEST_REQUEST);
	copy(out.ip.tcp.data, s->reply + s->next, n);
	send_ip(&out, 20 + n, &out.ip.tcp.sum);
}

/* What the window has room for; when nothing moves, a byte more, so that the peer says how it is. */
static void push(struct slot *s, u32 least)
{
	u32 room = s->window < FLIGHT ? s->window : FLIGHT;
	while (s->total && s->next <= s->total) {
		u32 n = s->total - s->next, last = s->done + (room > least ? room : least);
		if (n > PIECE)
			n = PIECE;
		if (s->next + n > last) {
			if (s->next >= last)
				break;
			n = last - s->next;
		}
		u8 flags = s->next + n == s->total ? ACK | PSH | FIN : ACK;
		put(s, flags, n);
		s->next += n + (flags & FIN);
		s->sent = now;
	}
}

static u8 *word(u8 *to, const char *text)
{
	while (*text)
		*to++ = *text++;
	return to;
}

static void make_reply(struct slot *s)
{
	u8 *name = s->request + 5, *end = name, *to = s->reply;
	u32 status = 400;
	while (*end > ' ')
		end++;
	if (s->asked <= LONGEST_REQUEST && same(s->request, "GET /", 5) && same(end, " HTTP/1.", 8) && (end[8] | 1) == '1' && same(end + 9, "\r\n", 2))
		status = end - name - 1 > 19 ? 404 : look_for(name, end - name);
#ifndef REFUSES
	if (status == 404 || status == 400)
		return;
#endif
	u32 n = status == 200 ? length : 0;
	to = word(to, "HTTP/1.0 ");
	to = decimal(to, status);
	to = word(to, " \r\nContent-Length: ");
	to = decimal(to, n);
	to = word(to, "\r\n\r\n");
	to = copy(to, value, n);
	s->total = to - s->reply;
}

/* Bytes of the request, in order. */
static void take(struct slot *s, const u8 *data, u32 n)
{
	for (; n && !s->total; n--) {
		if (s->asked < LONGEST_REQUEST)
			s->request[s->asked++] = *data++;
		else
			s->asked = LONGEST_REQUEST + 1;
		if (s->asked > LONGEST_REQUEST || (s->asked > 3 && same(s->request + s->asked - 4, "\r\n\r\n", 4)))
			make_reply(s);
	}
}

static void heard_tcp(struct frame *f, u32 size)
{
	u32 head = (f->ip.tcp.head >> 4) * 4, sequence = be32(f->ip.tcp.sequence);
	u32 acknowledged = be32(f->ip.tcp.acknowledged);
	struct slot *s = 0, *oldest = slots;
	u8 flags = f->ip.tcp.flags;
	if (head < 20 || head > size || f->ip.tcp.to != be16(80))
		return;
	size -= head;
	for (struct slot *t = slots; t < slots + SLOTS; t++) {
		if (t->peer == f->ip.source && t->port == f->ip.tcp.port)
			s = t;
		if (!t->peer || now - t->heard > now - oldest->heard)
			oldest = t;
	}
	if (flags & RST) {
		if (s && sequence == s->expected)
			s->peer = 0;
		return;
	}
	if (s && flags & SYN && sequence + 1 != s->base)
		s->peer = 0, s = 0;
	/* Nobody is remembered before he has answered to the number that follows from his own. */
	if (!s) {
		static struct slot stranger;
		u8 answers = acknowledged == sequence && !(flags & SYN) && flags & ACK;
		if (!answers && !(flags & SYN))
			return;
		s = answers ? oldest : &stranger;
		fill(s, 0, 48);
		s->peer = f->ip.source;
		s->port = f->ip.tcp.port;
		copy(s->mac, f->from, 6);
		s->base = s->expected = answers ? sequence : sequence + 1;
		if (!answers) {
			s->base = sequence;
			put(s, SYN | ACK, 0);
			return;
		}
	} else if (flags & SYN)
		return;
	s->heard = now;
	u32 place = acknowledged - s->base;
	if (place > s->done && place <= s->total + 1) {
		s->done = place;
		if (s->next < place)
			s->next = place;
	}
	s->window = be16(f->ip.tcp.window);
	if (size || flags & FIN) {
		if (sequence == s->expected) {
			s->expected += size + (flags & FIN);
			take(s, (u8 *)&f->ip.tcp + head, size);
		}
		put(s, ACK, 0);
	}
	if (s->total && s->done > s->total)
		s->heard -= SECOND(60); /* whoever comes next may have its place */
	push(s, 0);
}

static void repeat(void)
{
	for (struct slot *s = slots; s < slots + SLOTS; s++)
		if (address && s->peer && s->total && s->done <= s->total && now - s->sent > 2 && now - s->heard < SECOND(30)) {
			s->next = s->done;
			push(s, 1);
		}
}

/* ---- what comes in ---- */

static void heard_arp(struct frame *f)
{
	if (f->arp.operation != 0x100 || f->arp.target != address || !address)
		return;
	f->arp.operation = 0x200;
	copy(f->to, f->from, 6);
	copy(f->arp.target_mac, f->arp.mac, 6);
	f->arp.target = f->arp.address;
	f->arp.address = address;
	copy(f->arp.mac, mac, 6);
	send(f, 60);
}

static void heard(struct frame *f, u32 had)
{
	u32 size = be16(f->ip.size) - 20;
#ifdef PING
	if (f->kind == ARP)
		heard_arp(f);
#endif
	if (f->kind != IPV4 || f->ip.version != 0x45 || f->ip.fragment & 0xff3f)
		return;
	if (had < BEFORE + 8 || size > had - BEFORE || size < 8)
		return;
#ifdef HOSTILE
	if (sum(0, &f->ip, 20))
		return;
	if (f->ip.protocol == ICMP ? sum(0, &f->ip.icmp, size)
				   : (f->ip.protocol != UDP || f->ip.udp.sum) && sum_of(f, size))
		return;
#endif
	if (f->ip.protocol == UDP) {
		u32 given = be16(f->ip.udp.size);
		if (given < 8 || given > size)
			return;
		size = given;
#ifdef ADDRESS
		if (f->ip.udp.to == be16(68) && size >= 8 + 241)
			heard_dhcp(f, (u8 *)&f->ip.udp + size);
#endif
	}
	if (!address || f->ip.target != address)
		return;
#ifdef PING
	if (f->ip.protocol == ICMP && f->ip.icmp.kind == 8) {
		f->ip.icmp.kind = 0;
		answer(f, size, &f->ip.icmp.sum);
	}
#endif
#ifdef QUERIES
	if (f->ip.protocol == UDP && f->ip.udp.to == be16(7007))
		heard_query(f, size);
#endif
#ifdef FILES
	if (f->ip.protocol == TCP)
		heard_tcp(f, size);
#endif
}

/* Whether there was a frame. */
static int listen(void)
{
	static u16 seen;
	volatile struct queue *q = queues;
	if (seen == q->used.index)
		return 0;
	u32 entry = q->used.ring[seen % RING].entry;
	heard((struct frame *)buffers[entry], q->used.ring[seen % RING].size - 10);
	seen++;
	hand_over(0, entry);
	return 1;
}

void serve(void)
{
	find_card();
	read_catalogue();
	outw(0x602, 0x100); /* the power button may be noticed */
	look_at_the_clock();
	start_over();
	for (u16 idle = 0;;) {
		if (!listen() && ++idle)
			continue; /* ports are slow to ask, and keep whoever plays them from other work */
		look_at_the_clock();
		keep_the_address();
#ifdef LOSSY
		repeat();
#endif
#ifdef OFF
		if (inw(0x600) & 0x100) {
			if (address)
				say(RELEASE);
			outw(0x604, 0x2000);
		}
#endif
	}
}
