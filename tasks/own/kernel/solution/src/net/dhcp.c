/* ip=dhcp: the address of eth0, before the first program begins. */
#include "net.h"

struct bootp {
	u8 op, type, size, hops;
	u32 id;
	u16 seconds, flags;
	u32 client, yours, server, relay;
	u8 mac[16], name[64], file[128];
	u32 cookie;
	u8 options[312];
} packed;

bool dhcp_listening;
static struct bootp answer;
static size_t answer_size;
static WAITQUEUE(wait);

static const u8 *option(u8 code, u32 size)
{
	const u8 *p = answer.options, *end = (const u8 *)&answer + answer_size;
	while (p + 2 <= end && *p != 255) {
		if (!*p) {
			p++;
			continue;
		}
		if (p + 2 + p[1] > end)
			break;
		if (*p == code && p[1] >= size)
			return p + 2;
		p += 2 + p[1];
	}
	return NULL;
}

static u32 request_id;

void dhcp_receive(const u8 *payload, size_t size)
{
	if (answer_size || size < OFFSET(struct bootp, options))
		return;
	const struct bootp *b = (const void *)payload;
	if (b->op != 2 || b->id != request_id || b->cookie != be32(0x63825363))
		return;
	answer_size = MIN(size, sizeof answer);
	memcpy(&answer, payload, answer_size);
	wake_all(&wait);
}

static void send(struct netif *n, u8 type, u32 wanted, u32 server)
{
	struct { struct ethernet e; struct ip ip; struct udp udp; struct bootp b; } packed *f = kmalloc(sizeof *f);
	if (!f)
		return;
	u32 size = sizeof(struct bootp) - 312 + 64;
	f->b = (struct bootp){ .op = 1, .type = 1, .size = 6, .id = request_id, .flags = be16(0x8000), .cookie = be32(0x63825363) };
	memcpy(f->b.mac, n->mac, 6);
	u8 *o = f->b.options;
	*o++ = 53; *o++ = 1; *o++ = type;
	*o++ = 61; *o++ = 7; *o++ = 1; memcpy(o, n->mac, 6); o += 6;
	if (wanted) {
		*o++ = 50; *o++ = 4; memcpy(o, &wanted, 4); o += 4;
	}
	if (server) {
		*o++ = 54; *o++ = 4; memcpy(o, &server, 4); o += 4;
	}
	*o++ = 55; *o++ = 3; *o++ = 1; *o++ = 3; *o++ = 6;
	*o++ = 255;
	f->udp = (struct udp){ be16(68), be16(67), be16(sizeof f->udp + size), 0 };
	f->udp.sum = checksum(&f->udp, sizeof f->udp + size, pseudo_sum(0, EVERYBODY, IPPROTO_UDP, sizeof f->udp + size));
	f->ip = (struct ip){ 0x45, 0, be16(sizeof f->ip + sizeof f->udp + size), be16(1), 0, 64, IPPROTO_UDP, 0, 0, EVERYBODY };
	f->ip.sum = checksum(&f->ip, sizeof f->ip, 0);
	ip_send_frame(n, EVERYBODY, (u8 *)f, sizeof f->e + sizeof f->ip + sizeof f->udp + size);
	kfree(f);
}

/* Sends and waits for an answer of the kind. */
static bool ask(struct netif *n, u8 type, u8 expected, u32 wanted, u32 server, u64 patience)
{
	u64 until = now_ns() + patience;
	answer_size = 0;
	send(n, type, wanted, server);
	while (WAIT_UNTIL(&wait, answer_size, until) == 0) {
		const u8 *kind = option(53, 1);
		if (kind && *kind == expected)
			return true;
		if (kind && *kind == 6)
			return false;
		answer_size = 0;
	}
	return false;
}

bool dhcp_configure(struct netif *n)
{
	n->flags |= IFF_UP | IFF_RUNNING;
	dhcp_listening = true;
	bool done = false;
	for (int attempt = 0; attempt < 20 && !done; attempt++) {
		u64 patience = MIN(1 + attempt, 4) * 1000000000UL;
		request_id = random_u64();
		if (!ask(n, 1, 2, 0, 0, patience))
			continue;
		u32 mine = answer.yours, server = 0;
		const u8 *o = option(54, 4);
		if (o)
			memcpy(&server, o, 4);
		for (int again = 0; again < 4 && !done; again++)
			done = ask(n, 3, 5, mine, server, patience);
		if (!done)
			continue;
		n->ip = answer.yours;
		n->mask = 0x00ffffff;
		if ((o = option(1, 4)))
			memcpy(&n->mask, o, 4);
		if ((o = option(3, 4)))
			memcpy(&n->gateway, o, 4);
	}
	dhcp_listening = false;
	return done;
}
