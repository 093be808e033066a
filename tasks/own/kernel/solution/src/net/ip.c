/* ARP, IP and ICMP. Nothing here sleeps: it runs in interrupts as well. */
#include "net.h"
#include "text.h"

u32 pseudo_sum(u32 from, u32 to, u8 protocol, u32 size)
{
	return (from & 0xffff) + (from >> 16) + (to & 0xffff) + (to >> 16) + be16(protocol) + be16(size);
}

u16 checksum(const void *data, size_t n, u32 start)
{
	u64 sum = start;
	const u16 *p = data;
	for (; n > 1; n -= 2)
		sum += *p++;
	if (n)
		sum += *(const u8 *)p;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* Neighbours. */
#define NEIGHBOURS 32
#define HELD 16

struct neighbour {
	u32 ip;
	u8 mac[6];
	bool known;
	u64 used;
	u32 tries;
	struct timer timer;
	struct link held;
	u32 held_count;
};
static struct neighbour neighbours[NEIGHBOURS];

struct arp { u16 hardware, protocol; u8 hardware_size, protocol_size; u16 operation; u8 from_mac[6]; u32 from; u8 to_mac[6]; u32 to; } packed;

static void arp_send(struct netif *n, u16 operation, const u8 *mac, u32 ip)
{
	struct { struct ethernet e; struct arp a; u8 pad[18]; } packed f = {
		.e = { .type = be16(ETHERTYPE_ARP) },
		.a = { be16(1), be16(ETHERTYPE_IP), 6, 4, be16(operation), .from = n->ip, .to = ip },
	};
	memcpy(f.e.to, mac ? mac : (const u8 *)"\xff\xff\xff\xff\xff\xff", 6);
	memcpy(f.e.from, n->mac, 6);
	memcpy(f.a.from_mac, n->mac, 6);
	if (mac)
		memcpy(f.a.to_mac, mac, 6);
	n->transmit(n, (u8 *)&f, sizeof f);
}

static void drop_held(struct neighbour *b)
{
	while (!link_empty(&b->held)) {
		struct packet *p = FIRST(&b->held, struct packet, link);
		link_remove(&p->link);
		packet_free(p);
	}
	b->held_count = 0;
}

void tcp_unreachable(u32 to);

static void ask_again(struct timer *t)
{
	struct neighbour *b = HOLDER(t, struct neighbour, timer);
	if (b->known)
		return;
	if (++b->tries > 20) {
		u32 ip = b->ip;
		drop_held(b);
		b->ip = 0;
		tcp_unreachable(ip);
		return;
	}
	arp_send(&eth0, 1, NULL, b->ip);
	timer_set(t, now_ns() + (b->tries < 10 ? 150000000 : 500000000));
}

static struct neighbour *neighbour(u32 ip, bool make)
{
	struct neighbour *oldest = &neighbours[0];
	for (int i = 0; i < NEIGHBOURS; i++) {
		if (neighbours[i].ip == ip) {
			neighbours[i].used = now_ns();
			return &neighbours[i];
		}
		if (neighbours[i].used < oldest->used || !neighbours[i].ip)
			oldest = &neighbours[i];
	}
	if (!make)
		return NULL;
	if (oldest->ip) {
		timer_cancel(&oldest->timer);
		drop_held(oldest);
	}
	*oldest = (struct neighbour){ .ip = ip, .used = now_ns(), .timer.fire = ask_again };
	link_init(&oldest->held);
	link_init(&oldest->timer.link);
	return oldest;
}

static void learn(struct netif *n, u32 ip, const u8 *mac, bool make)
{
	struct neighbour *b = ip ? neighbour(ip, make) : NULL;
	if (!b)
		return;
	memcpy(b->mac, mac, 6);
	b->known = true;
	timer_cancel(&b->timer);
	while (!link_empty(&b->held)) {
		struct packet *p = FIRST(&b->held, struct packet, link);
		link_remove(&p->link);
		memcpy(p->data, mac, 6);
		n->transmit(n, p->data, p->size);
		packet_free(p);
	}
	b->held_count = 0;
}

void arp_receive(struct netif *n, const u8 *packet, size_t size)
{
	const struct arp *a = (const void *)packet;
	if (size < sizeof *a || a->protocol != be16(ETHERTYPE_IP) || !n->ip)
		return;
	bool mine = a->to == n->ip;
	learn(n, a->from, a->from_mac, mine);
	if (mine && a->operation == be16(1))
		arp_send(n, 2, a->from_mac, a->from);
}

void arp_list(struct text *t)
{
	text_add(t, "IP address       HW type     Flags       HW address            Mask     Device\n");
	for (int i = 0; i < NEIGHBOURS; i++) {
		u8 *a = (u8 *)&neighbours[i].ip, *m = neighbours[i].mac;
		if (neighbours[i].ip && neighbours[i].known)
			text_add(t, "%u.%u.%u.%u 0x1 0x2 %02x:%02x:%02x:%02x:%02x:%02x * eth0\n", a[0], a[1], a[2], a[3], m[0], m[1], m[2], m[3], m[4], m[5]);
	}
}

bool ip_is_mine(u32 a) { return (a & 0xff) == 127 || (a && a == eth0.ip); }

static bool is_broadcast(struct netif *n, u32 to) { return to == EVERYBODY || (n->ip && to == (n->ip | ~n->mask)); }

static struct netif *way(u32 to)
{
	if (ip_is_mine(to))
		return &loopback;
	return have_eth0 && eth0.flags & IFF_UP ? &eth0 : NULL;
}

u32 ip_source_for(u32 to)
{
	if ((to & 0xff) == 127)
		return LOCALHOST;
	return eth0.ip;
}

/* The frame has room for the Ethernet header in front; it is filled in here. */
int ip_send_frame(struct netif *n, u32 to, u8 *frame, size_t size)
{
	struct ethernet *e = (void *)frame;
	e->type = be16(ETHERTYPE_IP);
	memcpy(e->from, n->mac, 6);
	n->tx_packets++;
	n->tx_bytes += size;
	if (n == &loopback || is_broadcast(n, to)) {
		memset(e->to, n == &loopback ? 0 : 0xff, 6);
		return n->transmit(n, frame, size) ? 0 : -ENOBUFS;
	}
	if ((to & 0xf0) == 0xe0) {
		u8 *a = (u8 *)&to, mac[6] = { 1, 0, 0x5e, a[1] & 0x7f, a[2], a[3] };
		memcpy(e->to, mac, 6);
		return n->transmit(n, frame, size) ? 0 : -ENOBUFS;
	}
	u32 next = (to & n->mask) == (n->ip & n->mask) ? to : n->gateway;
	if (!next)
		return -ENETUNREACH;
	struct neighbour *b = neighbour(next, true);
	if (b->known) {
		memcpy(e->to, b->mac, 6);
		return n->transmit(n, frame, size) ? 0 : -ENOBUFS;
	}
	struct packet *p = b->held_count < HELD ? packet_new(frame, size) : NULL;
	if (p) {
		link_append(&b->held, &p->link);
		b->held_count++;
	}
	if (link_empty(&b->timer.link))
		ask_again(&b->timer);
	return 0;
}

static int send_piece(struct netif *n, u32 from, u32 to, u8 protocol, const u8 *data, size_t size, u8 ttl, u16 id, u16 fragment)
{
	static u8 frame[sizeof(struct ethernet) + 16384 + 64];
	struct ip *ip = (void *)(frame + sizeof(struct ethernet));
	*ip = (struct ip){ 0x45, 0, be16(sizeof *ip + size), be16(id), be16(fragment), ttl, protocol, 0, from, to };
	ip->sum = checksum(ip, sizeof *ip, 0);
	memcpy(ip + 1, data, size);
	return ip_send_frame(n, to, frame, sizeof(struct ethernet) + sizeof *ip + size);
}

int ip_send(u32 from, u32 to, u8 protocol, const void *payload, size_t size, u8 ttl)
{
	static u16 next_id;
	struct netif *n = way(to);
	if (!n)
		return -ENETUNREACH;
	if (!from)
		from = ip_source_for(to);
	size_t most = ROUND_DOWN(n->mtu - sizeof(struct ip), 8);
	u16 id = ++next_id;
	if (size <= n->mtu - sizeof(struct ip))
		return send_piece(n, from, to, protocol, payload, size, ttl, id, 0);
	for (size_t at = 0; at < size; at += most) {
		bool more = at + most < size;
		int error = send_piece(n, from, to, protocol, (const u8 *)payload + at, MIN(most, size - at), ttl, id, at / 8 | (more ? 0x2000 : 0));
		if (error)
			return error;
	}
	return 0;
}

/* Putting fragments together: a few datagrams at a time. */
#define PARTIAL 4

struct partial { u32 from, to; u16 id; u8 protocol; bool used; u64 since; u32 have, total; u8 *data; u8 seen[8192 / 8]; };
static struct partial partials[PARTIAL];

static void partial_free(struct partial *p)
{
	kfree(p->data);
	p->data = NULL;
	p->used = false;
}

static struct partial *partial_for(const struct ip *ip)
{
	struct partial *oldest = &partials[0];
	for (int i = 0; i < PARTIAL; i++) {
		struct partial *p = &partials[i];
		if (p->used && p->from == ip->from && p->to == ip->to && p->id == ip->id && p->protocol == ip->protocol)
			return p;
		if (!p->used || p->since < oldest->since)
			oldest = p;
	}
	partial_free(oldest);
	memset(oldest, 0, sizeof *oldest);
	oldest->data = kmalloc(65536 + sizeof *ip);
	if (!oldest->data)
		return NULL;
	oldest->from = ip->from;
	oldest->to = ip->to;
	oldest->id = ip->id;
	oldest->protocol = ip->protocol;
	oldest->used = true;
	oldest->since = now_ns();
	return oldest;
}

static void deliver(struct netif *n, const struct ip *ip, size_t size, bool broadcast);

static void fragment(struct netif *n, const struct ip *ip, const u8 *payload, size_t size, bool broadcast)
{
	u32 at = (be16(ip->fragment) & 0x1fff) * 8;
	bool more = be16(ip->fragment) & 0x2000;
	if (at + size > 65535 || (more && size & 7))
		return;
	struct partial *p = partial_for(ip);
	if (!p)
		return;
	memcpy(p->data + sizeof *ip + at, payload, size);
	for (u32 unit = at / 8; unit < (at + size + 7) / 8; unit++)
		if (!(p->seen[unit / 8] >> unit % 8 & 1)) {
			p->seen[unit / 8] |= 1 << unit % 8;
			p->have++;
		}
	if (!more)
		p->total = at + size;
	if (!p->total || p->have < (p->total + 7) / 8)
		return;
	struct ip *whole = (void *)p->data;
	*whole = *ip;
	whole->version_length = 0x45;
	whole->fragment = 0;
	whole->size = be16(MIN(p->total + sizeof *ip, 65535UL));
	size_t total = p->total + sizeof *ip;
	u8 *data = p->data;
	p->data = NULL;
	p->used = false;
	deliver(n, (struct ip *)data, total, broadcast);
	kfree(data);
}

static void icmp_receive(const struct ip *ip, const u8 *payload, size_t size, bool broadcast)
{
	const struct icmp *in = (const void *)payload;
	if (size < sizeof *in || checksum(payload, size, 0))
		return;
	if (in->type == 8 && !broadcast) {
		u8 *reply = kmalloc(size);
		if (!reply)
			return;
		memcpy(reply, payload, size);
		struct icmp *out = (void *)reply;
		out->type = 0;
		out->sum = 0;
		out->sum = checksum(reply, size, 0);
		ip_send(ip->to, ip->from, IPPROTO_ICMP, reply, size, 64);
		kfree(reply);
	} else if (in->type == 3 && size >= sizeof *in + sizeof(struct ip) + 8) {
		const struct ip *inner = (const void *)(payload + sizeof *in);
		const u8 *rest = (const u8 *)inner + (inner->version_length & 15) * 4;
		if (inner->protocol == IPPROTO_UDP && rest + 8 <= payload + size)
			udp_error(inner, rest);
	}
}

void icmp_unreachable(const struct ip *original, size_t size)
{
	size_t quoted = MIN(size, (original->version_length & 15) * 4UL + 8);
	u8 packet[sizeof(struct icmp) + 68] = { 3, 3 };
	memcpy(packet + sizeof(struct icmp), original, MIN(quoted, 68UL));
	struct icmp *out = (void *)packet;
	out->sum = checksum(packet, sizeof *out + quoted, 0);
	ip_send(original->to, original->from, IPPROTO_ICMP, packet, sizeof *out + quoted, 64);
}

static void deliver(struct netif *n, const struct ip *ip, size_t size, bool broadcast)
{
	size_t header = (ip->version_length & 15) * 4;
	const u8 *payload = (const u8 *)ip + header;
	raw_receive(ip, size);
	switch (ip->protocol) {
	case IPPROTO_ICMP: icmp_receive(ip, payload, size - header, broadcast); break;
	case IPPROTO_UDP: udp_receive(n, ip, payload, size - header); break;
	case IPPROTO_TCP:
		if (!broadcast)
			tcp_receive(ip, payload, size - header);
		break;
	}
}

void ip_receive(struct netif *n, const u8 *packet, size_t size, bool group)
{
	const struct ip *ip = (const void *)packet;
	if (size < sizeof *ip || ip->version_length >> 4 != 4)
		return;
	size_t header = (ip->version_length & 15) * 4, total = be16(ip->size);
	if (header < sizeof *ip || total < header || total > size || checksum(ip, header, 0))
		return;
	if (dhcp_listening && n != &loopback && ip->protocol == IPPROTO_UDP && total >= header + sizeof(struct udp)) {
		const struct udp *u = (const void *)(packet + header);
		if (u->to == be16(68))
			dhcp_receive(packet + header + sizeof *u, total - header - sizeof *u);
	}
	bool broadcast = is_broadcast(n, ip->to) || (ip->to & 0xf0) == 0xe0;
	if (!broadcast && !(n == &loopback ? ip_is_mine(ip->to) : ip->to && ip->to == n->ip))
		return;
	if (be16(ip->fragment) & 0x3fff)
		fragment(n, ip, packet + header, total - header, broadcast);
	else
		deliver(n, ip, total, broadcast || group);
}
