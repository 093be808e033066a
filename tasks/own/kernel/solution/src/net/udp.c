/* UDP sockets, and those that see ICMP or another protocol as it is. */
#include "net.h"
#include "text.h"

struct inet {
	struct link all;
	struct socket *socket;
	u32 local, remote;
	u16 local_port, remote_port;	/* network order; of a ping socket: its identifier */
	bool header_included;
	u8 ttl;
	struct netif *only;
};

static struct link udp_sockets = LINK_INIT(udp_sockets), raw_sockets = LINK_INIT(raw_sockets);

static struct inet *in(struct socket *s) { return s->own; }

static int open(struct socket *s, struct link *list)
{
	struct inet *i = kmalloc(sizeof *i);
	if (!i)
		return -ENOMEM;
	i->socket = s;
	i->ttl = 64;
	s->own = i;
	link_append(list, &i->all);
	return 0;
}

int udp_open(struct socket *s) { return open(s, &udp_sockets); }
int raw_open(struct socket *s) { return open(s, &raw_sockets); }

static struct inet *taken(u32 address, u16 port, struct inet *but)
{
	struct inet *i;
	EACH(i, &udp_sockets, all)
		if (i != but && i->local_port == port && (!i->local || !address || i->local == address))
			return i;
	return NULL;
}

static int choose_port(struct inet *i)
{
	static u16 next = 32768;
	for (int n = 0; n < 28000; n++) {
		next = next >= 60999 ? 32768 : next + 1;
		if (!taken(i->local, be16(next), i)) {
			i->local_port = be16(next);
			return 0;
		}
	}
	return -EADDRINUSE;
}

static int bind(struct socket *s, const u8 *name, u32 size)
{
	const struct sockaddr_in *a = (const void *)name;
	struct inet *i = in(s);
	if (size < sizeof *a)
		return -EINVAL;
	if (a->family != AF_INET)
		return -EAFNOSUPPORT;
	if (a->address && !ip_is_mine(a->address) && a->address != EVERYBODY)
		return -EADDRNOTAVAIL;
	if (s->ops == &udp_ops) {
		if (i->local_port)
			return -EINVAL;
		if (a->port && be16(a->port) < 1024 && !capable())
			return -EACCES;
		struct inet *other = a->port ? taken(a->address, a->port, i) : NULL;
		if (other && !(s->reuse && other->socket->reuse))
			return -EADDRINUSE;
	}
	i->local = a->address;
	i->local_port = a->port;
	return s->ops == &udp_ops && !a->port ? choose_port(i) : 0;
}

static int connect(struct socket *s, const u8 *name, u32 size)
{
	const struct sockaddr_in *a = (const void *)name;
	struct inet *i = in(s);
	if (size >= 2 && a->family == 0) {
		i->remote = i->remote_port = 0;
		return 0;
	}
	if (size < sizeof *a)
		return -EINVAL;
	if (a->family != AF_INET)
		return -EAFNOSUPPORT;
	u32 to = a->address ? a->address : LOCALHOST;
	u32 from = ip_source_for(to);
	if (!from)
		return -ENETUNREACH;
	if (!i->local)
		i->local = from;
	if (s->ops == &udp_ops && !i->local_port && choose_port(i))
		return -EAGAIN;
	i->remote = to;
	i->remote_port = a->port;
	s->error = 0;
	return 0;
}

static int destination(struct socket *s, struct message *m, u32 *to, u16 *port)
{
	struct inet *i = in(s);
	const struct sockaddr_in *a = (const void *)m->name;
	if (s->error)
		return take_error(s);
	if (m->name_size) {
		if (m->name_size < sizeof *a)
			return -EINVAL;
		if (a->family != AF_INET && a->family)
			return -EAFNOSUPPORT;
		*to = a->address ? a->address : LOCALHOST;
		*port = a->port;
	} else {
		if (!i->remote)
			return -EDESTADDRREQ;
		*to = i->remote;
		*port = i->remote_port;
	}
	if (*to == EVERYBODY && !s->broadcast)
		return -EACCES;
	return 0;
}

static ssize_t udp_send(struct socket *s, struct message *m)
{
	struct inet *i = in(s);
	u32 to;
	u16 port;
	size_t n = m->data->left;
	int error = destination(s, m, &to, &port);
	if (error)
		return error;
	if (!port)
		return -EINVAL;
	if (n > 65507)
		return -EMSGSIZE;
	if (!i->local_port && choose_port(i))
		return -EAGAIN;
	u8 *packet = kmalloc(sizeof(struct udp) + n);
	if (!packet)
		return -ENOBUFS;
	struct udp *u = (void *)packet;
	u32 from = i->local ? i->local : ip_source_for(to), size = sizeof *u + n;
	error = uio_in(m->data, u + 1, n);
	if (!error) {
		*u = (struct udp){ i->local_port, port, be16(size), 0 };
		u->sum = checksum(u, size, pseudo_sum(from, to, IPPROTO_UDP, size));
		if (!u->sum)
			u->sum = 0xffff;
		error = ip_send(from, to, IPPROTO_UDP, packet, size, i->ttl);
	}
	kfree(packet);
	return error ? error : (ssize_t)n;
}

static void queue(struct socket *s, const void *data, size_t n, u32 from, u16 port)
{
	struct packet *p = s->queued + n < s->buffer ? packet_new(data, n) : NULL;
	if (!p)
		return;
	struct sockaddr_in a = { AF_INET, port, from };
	memcpy(p->from, &a, sizeof a);
	p->from_size = sizeof a;
	queue_packet(s, p);
}

void udp_receive(struct netif *n, const struct ip *ip, const u8 *payload, size_t size)
{
	const struct udp *u = (const void *)payload;
	struct inet *i, *best = NULL;
	int score, most = -1;
	if (size < sizeof *u || be16(u->size) < sizeof *u || be16(u->size) > size)
		return;
	u32 length = be16(u->size);
	if (u->sum && checksum(u, length, pseudo_sum(ip->from, ip->to, IPPROTO_UDP, length)))
		return;
	bool group = !ip_is_mine(ip->to);
	EACH(i, &udp_sockets, all) {
		if (i->local_port != u->to || (i->local && i->local != ip->to && !group) || (i->only && i->only != n)
			|| (i->remote && (i->remote != ip->from || i->remote_port != u->from)))
			continue;
		score = (i->local ? 1 : 0) + (i->remote ? 2 : 0);
		if (group)
			queue(i->socket, u + 1, length - sizeof *u, ip->from, u->from);
		if (score > most) {
			most = score;
			best = i;
		}
	}
	if (best && !group)
		queue(best->socket, u + 1, length - sizeof *u, ip->from, u->from);
	else if (!best && !group)
		icmp_unreachable(ip, size + (ip->version_length & 15) * 4);
}

/* A message of ours came to a port that nobody has. */
void udp_error(const struct ip *inner, const u8 *payload)
{
	const struct udp *u = (const void *)payload;
	struct inet *i;
	EACH(i, &udp_sockets, all)
		if (i->local_port == u->from && i->remote == inner->to && i->remote_port == u->to) {
			i->socket->error = ECONNREFUSED;
			wake_all(&i->socket->wait);
		}
}

static bool ping_socket(struct socket *s) { return s->type == SOCK_DGRAM; }

static ssize_t raw_send(struct socket *s, struct message *m)
{
	struct inet *i = in(s);
	u32 to;
	u16 port;
	size_t n = m->data->left;
	int error = destination(s, m, &to, &port);
	if (error)
		return error;
	if (n > 65000)
		return -EMSGSIZE;
	u8 *packet = kmalloc(MAX(n, 64UL));
	if (!packet)
		return -ENOBUFS;
	error = uio_in(m->data, packet, n);
	if (!error && ping_socket(s)) {
		struct icmp *c = (void *)packet;
		static u16 next_id = 1;
		if (!i->local_port)
			i->local_port = be16(next_id++);
		c->id = i->local_port;
		c->sum = 0;
		c->sum = checksum(packet, n, 0);
		if (n < sizeof *c)
			error = -EINVAL;
	}
	if (!error && i->header_included) {
		struct ip *ip = (void *)packet;
		error = n < sizeof *ip ? -EINVAL : ip_send(ip->from, to, ip->protocol, packet + sizeof *ip, n - sizeof *ip, ip->ttl);
	} else if (!error)
		error = ip_send(i->local, to, s->protocol, packet, n, i->ttl);
	kfree(packet);
	return error ? error : (ssize_t)n;
}

void raw_receive(const struct ip *ip, size_t size)
{
	struct inet *i;
	size_t header = (ip->version_length & 15) * 4;
	EACH(i, &raw_sockets, all) {
		struct socket *s = i->socket;
		if (s->protocol != ip->protocol || (i->remote && i->remote != ip->from) || (i->local && i->local != ip->to))
			continue;
		if (!ping_socket(s))
			queue(s, ip, size, ip->from, 0);
		else {
			const struct icmp *c = (const void *)((const u8 *)ip + header);
			if (size >= header + sizeof *c && c->type == 0 && c->id == i->local_port)
				queue(s, c, size - header, ip->from, 0);
		}
	}
}

static int shutdown(struct socket *s, int how)
{
	if (!in(s)->remote)
		return -ENOTCONN;
	s->shut_read |= how != 1;
	s->shut_write |= how != 0;
	wake_all(&s->wait);
	return 0;
}

static int name_of(struct socket *s, bool peer, u8 *name)
{
	struct inet *i = in(s);
	struct sockaddr_in a = { AF_INET, peer ? i->remote_port : i->local_port, peer ? i->remote : i->local };
	if (peer && !i->remote)
		return -ENOTCONN;
	memcpy(name, &a, sizeof a);
	return sizeof a;
}

static int set(struct socket *s, int level, int option, const void *value, u32 size)
{
	i32 n = 0;
	memcpy(&n, value, size < 4 ? 1 : 4);
	if (level == 0) {
		if (option == 2)
			in(s)->ttl = n > 0 ? n : 64;
		else if (option == 3)
			in(s)->header_included = n;
		return 0;
	}
	return level == 1 || level == 255 ? 0 : -ENOPROTOOPT;
}

static int get(struct socket *s, int level, int option, void *value, u32 *size)
{
	i32 n = option == 2 ? in(s)->ttl : 0;
	memcpy(value, &n, 4);
	*size = MIN(*size, 4u);
	return level == 0 ? 0 : -ENOPROTOOPT;
}

static u32 poll(struct socket *s, struct poll_table *t)
{
	return POLLOUT | POLLWRNORM | (!link_empty(&s->queue) || s->shut_read ? POLLIN | POLLRDNORM : 0) | (s->error ? POLLERR | POLLIN : 0);
}

static void release(struct socket *s)
{
	link_remove(&in(s)->all);
	kfree(s->own);
}

void udp_list(struct text *t)
{
	struct inet *i;
	int n = 0;
	text_add(t, "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n");
	EACH(i, &udp_sockets, all)
		text_add(t, "%4d: %08x:%04x %08x:%04x 07 00000000:00000000 00:00000000 00000000     0        0 0\n", n++, i->local, be16(i->local_port), i->remote, be16(i->remote_port));
}

const struct socket_ops udp_ops = { .bind = bind, .connect = connect, .send = udp_send, .receive = receive_packet,
	.shutdown = shutdown, .name = name_of, .set = set, .get = get, .poll = poll, .release = release };
const struct socket_ops raw_ops = { .bind = bind, .connect = connect, .send = raw_send, .receive = receive_packet,
	.shutdown = shutdown, .name = name_of, .set = set, .get = get, .poll = poll, .release = release };
