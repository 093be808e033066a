/* TCP sockets. */
#include "tcp.h"
#include "text.h"

static struct tcp *tcp(struct socket *s) { return s->own; }

int tcp_open(struct socket *s)
{
	s->own = tcp_new(s);
	return s->own ? 0 : -ENOMEM;
}

/* With SO_REUSEADDR a port may be had that only ended or accepted connections use. */
static bool taken(struct tcp *me, u32 address, u16 port, bool reuse)
{
	struct tcp *t;
	EACH(t, &tcp_all, all) {
		if (t == me || t->local_port != port || (t->local && address && t->local != address))
			continue;
		if (t->state == LISTEN || !reuse || (t->state == CLOSED && t->socket && !t->socket->reuse))
			return true;
	}
	return false;
}

static int choose_port(struct tcp *t)
{
	static u16 next;
	if (!next)
		next = 32768 + random_u64() % 28000;
	for (int n = 0; n < 28000; n++) {
		next = next >= 60999 ? 32768 : next + 1;
		if (!taken(t, t->local, be16(next), false)) {
			t->local_port = be16(next);
			return 0;
		}
	}
	return -EADDRNOTAVAIL;
}

static int bind(struct socket *s, const u8 *name, u32 size)
{
	const struct sockaddr_in *a = (const void *)name;
	struct tcp *t = tcp(s);
	if (size < sizeof *a)
		return -EINVAL;
	if (a->family != AF_INET)
		return -EAFNOSUPPORT;
	if (!t || t->local_port || t->state != CLOSED)
		return -EINVAL;
	if (a->address && !ip_is_mine(a->address))
		return -EADDRNOTAVAIL;
	if (a->port && be16(a->port) < 1024 && !capable())
		return -EACCES;
	if (a->port && taken(t, a->address, a->port, s->reuse))
		return -EADDRINUSE;
	t->local = a->address;
	t->bound_port = true;
	if (!a->port)
		return choose_port(t);
	t->local_port = a->port;
	return 0;
}

static int listen(struct socket *s, u32 backlog)
{
	struct tcp *t = tcp(s);
	if (!t || (t->state != CLOSED && t->state != LISTEN))
		return -EINVAL;
	if (!t->local_port && choose_port(t))
		return -EADDRINUSE;
	t->backlog_room = MIN(backlog, 1024u) + 1;
	t->state = LISTEN;
	s->listening = true;
	return 0;
}

static int wait_connected(struct socket *s)
{
	struct tcp *t = tcp(s);
	int error = WAIT_UNTIL(&s->wait, t->state != SYN_SENT && t->state != SYN_RECEIVED, deadline(s->send_timeout));
	if (error)
		return error == -ETIMEDOUT ? -EINPROGRESS : error;
	if (s->error)
		return take_error(s);
	return t->state == CLOSED ? -ECONNABORTED : 0;
}

static int connect(struct socket *s, const u8 *name, u32 size)
{
	const struct sockaddr_in *a = (const void *)name;
	struct tcp *t = tcp(s);
	if (size < sizeof *a)
		return -EINVAL;
	if (a->family != AF_INET)
		return -EAFNOSUPPORT;
	if (!t || t->state == LISTEN)
		return -EISCONN;
	if (t->state == SYN_SENT || t->state == SYN_RECEIVED)
		return s->nonblock ? -EALREADY : wait_connected(s);
	if (t->state != CLOSED)
		return -EISCONN;
	if (s->error)
		return take_error(s);
	if (t->send) {		/* a second attempt */
		kfree(t->send);
		kfree(t->receive);
		t->send = t->receive = NULL;
		t->fin_received = false;
		t->retries = 0;
		if (!t->bound_port)
			t->local_port = 0;
	}
	t->remote = a->address ? a->address : LOCALHOST;
	if (!t->local)
		t->local = ip_source_for(t->remote);
	if (!t->local)
		return -ENETUNREACH;
	if (!t->local_port && choose_port(t))
		return -EADDRNOTAVAIL;
	t->remote_port = a->port;
	if (!tcp_buffers(t))
		return -ENOBUFS;
	t->state = SYN_SENT;
	tcp_segment(t, t->una, SYN, 0);
	t->next = t->highest = t->una + 1;
	timer_set(&t->timer, now_ns() + t->rto);
	return s->nonblock ? -EINPROGRESS : wait_connected(s);
}

static int accept(struct socket *s, struct socket *fresh)
{
	struct tcp *l = tcp(s);
	if (link_empty(&l->backlog)) {
		if (s->nonblock)
			return -EAGAIN;
		int error = WAIT_UNTIL(&s->wait, !link_empty(&l->backlog) || s->shut_read, deadline(s->receive_timeout));
		if (error)
			return error == -ETIMEDOUT ? -EAGAIN : error;
		if (link_empty(&l->backlog))
			return -EINVAL;
	}
	struct tcp *t = FIRST(&l->backlog, struct tcp, waiting);
	link_remove(&t->waiting);
	l->backlog_size--;
	t->parent = NULL;
	tcp_free(tcp(fresh));
	fresh->own = t;
	fresh->reuse = s->reuse;
	t->socket = fresh;
	return 0;
}

static bool open_for_sending(struct tcp *t) { return (t->state == ESTABLISHED || t->state == CLOSE_WAIT) && !t->fin_queued; }

static ssize_t send(struct socket *s, struct message *m)
{
	struct tcp *t = tcp(s);
	size_t done = 0;
	u8 bounce[1024];
	if (t && (t->state == SYN_SENT || t->state == SYN_RECEIVED)) {
		if (no_wait(s, m))
			return -EAGAIN;
		int error = wait_connected(s);
		if (error)
			return error;
	}
	while (m->data->left) {
		if (s->error)
			return done ? (ssize_t)done : take_error(s);
		if (!t || (t->state == CLOSED && !t->send) || t->state == LISTEN)
			return broken_pipe(m);
		if (!open_for_sending(t))
			return done ? (ssize_t)done : broken_pipe(m);
		if (t->send_size >= TCP_BUFFER) {
			tcp_output(t, false);
			if (no_wait(s, m))
				return done ? (ssize_t)done : -EAGAIN;
			int error = WAIT_UNTIL(&s->wait, t->send_size < TCP_BUFFER - TCP_BUFFER / 8 || !open_for_sending(t) || s->error, deadline(s->send_timeout));
			if (error)
				return done ? (ssize_t)done : error == -ETIMEDOUT ? -EAGAIN : error;
			continue;
		}
		size_t n = MIN(MIN(m->data->left, sizeof bounce), TCP_BUFFER - t->send_size);
		if (uio_in(m->data, bounce, n))
			return done ? (ssize_t)done : -EFAULT;
		if (!open_for_sending(t) || t->send_size + n > TCP_BUFFER)
			continue;
		for (size_t i = 0; i < n;) {
			u32 at = (tcp_send_end(t) + i) % TCP_BUFFER;
			size_t part = MIN(n - i, TCP_BUFFER - at);
			memcpy(t->send + at, bounce + i, part);
			i += part;
		}
		t->send_size += n;
		done += n;
		if (t->send_size % 8192 < n)
			tcp_output(t, false);
	}
	if (t && open_for_sending(t))
		tcp_output(t, false);
	return done;
}

static bool readable(struct socket *s)
{
	struct tcp *t = tcp(s);
	return t->receive_size || t->fin_received || s->shut_read || s->error || t->state == CLOSED;
}

static ssize_t receive(struct socket *s, struct message *m)
{
	struct tcp *t = tcp(s);
	size_t done = 0;
	u8 bounce[2048];
	if (!t)
		return 0;
	if (t->state == LISTEN || (t->state == CLOSED && !t->receive))
		return s->error ? take_error(s) : -ENOTCONN;
	u32 peeked = 0;
	while (m->data->left) {
		if (t->receive_size == peeked) {
			if (done && !(m->flags & MSG_WAITALL && !peeked))
				break;
			if (s->error)
				return done ? (ssize_t)done : take_error(s);
			if (t->fin_received || s->shut_read || t->state == CLOSED)
				break;
			if (no_wait(s, m))
				return done ? (ssize_t)done : -EAGAIN;
			int error = WAIT_UNTIL(&s->wait, readable(s), deadline(s->receive_timeout));
			if (error)
				return done ? (ssize_t)done : error == -ETIMEDOUT ? -EAGAIN : error;
			continue;
		}
		u32 from = t->read_at + peeked, at = from % TCP_BUFFER;
		size_t n = MIN(MIN(m->data->left, (size_t)(t->receive_size - peeked)), MIN(sizeof bounce, (size_t)(TCP_BUFFER - at)));
		memcpy(bounce, t->receive + at, n);
		if (m->flags & MSG_PEEK)
			peeked += n;
		else {
			t->read_at += n;
			t->receive_size -= n;
		}
		if (!(m->flags & MSG_TRUNC) && uio_out(m->data, bounce, n))
			return done ? (ssize_t)done : -EFAULT;
		if (m->flags & MSG_TRUNC)
			m->data->left -= n;
		done += n;
	}
	/* Tell the peer when there is much more room than it knows of. */
	u32 window_end = t->expected + MIN(TCP_BUFFER - t->receive_size, 65535u);
	if (!(m->flags & MSG_PEEK) && t->state >= ESTABLISHED && !t->fin_received
		&& window_end - t->advertised >= MIN(2u * t->mss, TCP_BUFFER / 2))
		tcp_segment(t, t->next, ACK, 0);
	return done;
}

/* Our side ends; what was given is still sent. */
static void finish(struct tcp *t)
{
	if (t->fin_queued)
		return;
	if (t->state == ESTABLISHED || t->state == SYN_RECEIVED)
		t->state = FIN_WAIT_1;
	else if (t->state == CLOSE_WAIT)
		t->state = LAST_ACK;
	else
		return;
	t->fin_queued = true;
	tcp_output(t, false);
}

static int shutdown(struct socket *s, int how)
{
	struct tcp *t = tcp(s);
	if (t && t->state == LISTEN && how != 1) {
		s->shut_read = true;
		wake_all(&s->wait);
		return 0;
	}
	if (!t || t->state == CLOSED || t->state == LISTEN || t->state == SYN_SENT)
		return -ENOTCONN;
	if (how != 1)
		s->shut_read = true;
	if (how != 0) {
		s->shut_write = true;
		finish(t);
	}
	wake_all(&s->wait);
	return 0;
}

static int name_of(struct socket *s, bool peer, u8 *name)
{
	struct tcp *t = tcp(s);
	if (!t || (peer && (t->state < ESTABLISHED || !t->remote_port)))
		return peer ? -ENOTCONN : -EINVAL;
	struct sockaddr_in a = { AF_INET, peer ? t->remote_port : t->local_port, peer ? t->remote : t->local };
	memcpy(name, &a, sizeof a);
	return sizeof a;
}

static int set(struct socket *s, int level, int option, const void *value, u32 size)
{
	if (level == IPPROTO_TCP && option == 1 && tcp(s))
		tcp(s)->nodelay = *(const u8 *)value;
	return level == IPPROTO_TCP || level == 0 ? 0 : -ENOPROTOOPT;
}

static int get(struct socket *s, int level, int option, void *value, u32 *size)
{
	struct tcp *t = tcp(s);
	i32 n = 0;
	if (level != IPPROTO_TCP && level != 0)
		return -ENOPROTOOPT;
	if (level == IPPROTO_TCP && option == 1)
		n = t && t->nodelay;
	else if (level == IPPROTO_TCP && option == 2)
		n = t ? t->mss : 536;
	memcpy(value, &n, 4);
	*size = MIN(*size, 4u);
	return 0;
}

static u32 poll(struct socket *s, struct poll_table *table)
{
	struct tcp *t = tcp(s);
	u32 events = s->error ? POLLERR | POLLIN | POLLOUT : 0;
	if (!t || (t->state == CLOSED && !t->send))
		return events | POLLHUP | POLLOUT;
	if (t->state == LISTEN)
		return events | (link_empty(&t->backlog) ? 0 : POLLIN | POLLRDNORM);
	if (t->state == SYN_SENT || t->state == SYN_RECEIVED)
		return events;
	if (t->receive_size || t->fin_received || s->shut_read)
		events |= POLLIN | POLLRDNORM;
	if (t->fin_received || s->shut_read)
		events |= POLLRDHUP;
	if (t->state == CLOSED || (t->fin_received && t->fin_queued))
		events |= POLLHUP | POLLIN;
	if (!open_for_sending(t) || t->send_size < TCP_BUFFER - TCP_BUFFER / 8)
		events |= POLLOUT | POLLWRNORM;
	return events;
}

static i64 ioctl(struct socket *s, u32 command, u64 arg)
{
	struct tcp *t = tcp(s);
	i32 n = t ? command == FIONREAD ? t->receive_size : t->send_size : 0;
	return command == FIONREAD || command == TIOCOUTQ ? copy_out(arg, &n, 4) : -ENOTTY;
}

static void abandon(struct tcp *t)
{
	tcp_segment(t, t->next, RST | ACK, 0);
	tcp_free(t);
}

static void release(struct socket *s)
{
	struct tcp *t = tcp(s), *child;
	if (!t)
		return;
	s->own = NULL;
	t->socket = NULL;
	if (s->resets && t->state >= ESTABLISHED && t->state != TIME_WAIT) {
		abandon(t);
		return;
	}
	switch (t->state) {
	case LISTEN:
		EACH(child, &tcp_all, all)
			if (child->parent == t) {
				tcp_segment(child, child->next, RST | ACK, 0);
				child->state = CLOSED;
			}
again:
		EACH(child, &tcp_all, all)
			if (child->parent == t) {
				tcp_free(child);
				goto again;
			}
		tcp_free(t);
		break;
	case CLOSED: case SYN_SENT:
		tcp_free(t);
		break;
	case TIME_WAIT: case CLOSING: case LAST_ACK: case FIN_WAIT_1:
		break;
	case FIN_WAIT_2:
		timer_set(&t->timer, now_ns() + 20000000000UL);
		break;
	default:
		if (t->receive_size)	/* somebody else's words are thrown away: say so */
			abandon(t);
		else
			finish(t);
	}
}

void tcp_list(struct text *t)
{
	static const u8 codes[] = { 7, 10, 2, 3, 1, 4, 5, 11, 6, 8, 9 };
	struct tcp *c;
	int n = 0;
	text_add(t, "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n");
	EACH(c, &tcp_all, all)
		if (c->state != CLOSED)
			text_add(t, "%4d: %08x:%04x %08x:%04x %02x %08x:%08x 00:00000000 00000000     0        0 0\n", n++, c->local,
				be16(c->local_port), c->remote, be16(c->remote_port), codes[c->state], c->send_size, c->receive_size);
}

const struct socket_ops tcp_ops = { .bind = bind, .connect = connect, .listen = listen, .accept = accept, .send = send,
	.receive = receive, .shutdown = shutdown, .name = name_of, .set = set, .get = get, .poll = poll, .ioctl = ioctl, .release = release };
