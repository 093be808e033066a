/* Packet sockets: frames as they are, for DHCP clients and their like. */
#include "net.h"

struct sockaddr_ll { u16 family, protocol; i32 index; u16 hardware; u8 type, size; u8 address[8]; } packed;
struct tap { struct link all; struct socket *socket; u16 protocol; u32 index; };

static struct link taps = LINK_INIT(taps);

static struct tap *tap(struct socket *s) { return s->own; }

int packet_open(struct socket *s)
{
	struct tap *t = kmalloc(sizeof *t);
	if (!t)
		return -ENOMEM;
	t->socket = s;
	t->protocol = s->protocol;
	s->own = t;
	link_append(&taps, &t->all);
	return 0;
}

void packet_receive(struct netif *n, const u8 *frame, size_t size)
{
	const struct ethernet *e = (const void *)frame;
	struct tap *t;
	EACH(t, &taps, all) {
		struct socket *s = t->socket;
		if ((t->index && t->index != n->index) || (t->protocol != be16(3) && t->protocol != e->type))
			continue;
		size_t skip = s->type == SOCK_DGRAM ? sizeof *e : 0;
		struct packet *p = s->queued < s->buffer ? packet_new(frame + skip, size - skip) : NULL;
		if (!p)
			continue;
		struct sockaddr_ll a = { AF_PACKET, e->type, n->index, 1, e->to[0] == 0xff ? 1 : 0, 6 };
		memcpy(a.address, e->from, 6);
		memcpy(p->from, &a, sizeof a);
		p->from_size = sizeof a;
		queue_packet(s, p);
	}
}

static int bind(struct socket *s, const u8 *name, u32 size)
{
	const struct sockaddr_ll *a = (const void *)name;
	if (size < 12 || a->family != AF_PACKET)
		return -EINVAL;
	if (a->index && !netif_by_index(a->index))
		return -ENODEV;
	tap(s)->index = a->index;
	if (a->protocol)
		tap(s)->protocol = a->protocol;
	return 0;
}

static ssize_t send(struct socket *s, struct message *m)
{
	const struct sockaddr_ll *a = (const void *)m->name;
	struct netif *n = netif_by_index(m->name_size >= 12 ? (u32)a->index : tap(s)->index);
	size_t head = s->type == SOCK_DGRAM ? sizeof(struct ethernet) : 0, size = m->data->left;
	u8 frame[1600];
	if (!n || n == &loopback)
		return -ENXIO;
	if (size + head > 1514)
		return -EMSGSIZE;
	if (uio_in(m->data, frame + head, size))
		return -EFAULT;
	if (head) {
		struct ethernet *e = (void *)frame;
		memcpy(e->to, m->name_size >= 18 ? a->address : (const u8 *)"\xff\xff\xff\xff\xff\xff", 6);
		memcpy(e->from, n->mac, 6);
		e->type = m->name_size >= 12 && a->protocol ? a->protocol : tap(s)->protocol;
	}
	return n->transmit(n, frame, head + size) ? (ssize_t)size : -ENOBUFS;
}

static int name_of(struct socket *s, bool peer, u8 *name)
{
	struct sockaddr_ll a = { AF_PACKET, tap(s)->protocol, tap(s)->index, 1, 0, 6 };
	memcpy(a.address, eth0.mac, 6);
	memcpy(name, &a, sizeof a);
	return peer ? -ENOTCONN : (int)sizeof a;
}

static int set(struct socket *s, int level, int option, const void *value, u32 size) { return 0; }

static u32 poll(struct socket *s, struct poll_table *t)
{
	return POLLOUT | POLLWRNORM | (link_empty(&s->queue) ? 0 : POLLIN | POLLRDNORM);
}

static void release(struct socket *s)
{
	link_remove(&tap(s)->all);
	kfree(s->own);
}

const struct socket_ops packet_ops = { .bind = bind, .send = send, .receive = receive_packet, .name = name_of, .set = set, .poll = poll, .release = release };
