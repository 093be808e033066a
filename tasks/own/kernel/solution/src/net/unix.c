/* Sockets between programs of this machine. */
#include "socket.h"

struct local {
	struct socket *socket, *peer;	/* a reference to the peer */
	u8 name[110];
	u32 name_size;			/* with the family; 0: no name */
	struct path node;
	struct link named;		/* all bound ones */
	struct link backlog, waiting;	/* connections that nobody accepted yet */
	u32 backlog_size, backlog_room;
	bool peer_gone;
};

static struct link named = LINK_INIT(named);

i64 make_socket_node(const char *name, u32 mode, struct path *out);

int unix_open(struct socket *s)
{
	struct local *u = kmalloc(sizeof *u);
	if (!u)
		return -ENOMEM;
	u->socket = s;
	link_init(&u->named);
	link_init(&u->backlog);
	link_init(&u->waiting);
	s->own = u;
	return 0;
}

static struct local *un(struct socket *s) { return s->own; }

static void marry(struct socket *a, struct socket *b)
{
	un(a)->peer = b;
	un(b)->peer = a;
	socket_get(a);
	socket_get(b);
}

int unix_pair(struct socket *a, struct socket *b)
{
	marry(a, b);
	a->peer_cred = b->cred;
	b->peer_cred = a->cred;
	return 0;
}

static struct socket *find_abstract(const u8 *name, u32 size)
{
	struct local *u;
	EACH(u, &named, named)
		if (u->name_size == size && !memcmp(u->name, name, size))
			return u->socket;
	return NULL;
}

static int bind(struct socket *s, const u8 *name, u32 size)
{
	struct local *u = un(s);
	if (size < 2 || size > 110 || *(u16 *)name != AF_UNIX)
		return -EINVAL;
	if (u->name_size)
		return -EINVAL;
	if (size == 2) {
		u8 own[8] = { AF_UNIX, 0, 0 };
		do
			format((char *)own + 3, 5, "%04lx", random_u64() & 0xffff);
		while (find_abstract(own, 8));
		memcpy(u->name, own, 8);
		u->name_size = 8;
	} else if (!name[2]) {
		if (find_abstract(name, size))
			return -EADDRINUSE;
		memcpy(u->name, name, size);
		u->name_size = size;
	} else {
		char path[112] = "";
		memcpy(path, name + 2, size - 2);
		int error = make_socket_node(path, 0777 & ~current()->fs->umask, &u->node);
		if (error)
			return error;
		u->node.inode->data_socket = s;
		u->name_size = 2 + strlen(path) + 1;
		memcpy(u->name, name, 2);
		memcpy(u->name + 2, path, MIN(strlen(path) + 1, 108UL));
		u->name_size = MIN(u->name_size, 110u);
	}
	link_append(&named, &u->named);
	return 0;
}

static struct socket *find(struct socket *s, const u8 *name, u32 size, int *error)
{
	struct path p;
	struct socket *found;
	*error = -EINVAL;
	if (size < 3 || size > 110 || *(u16 *)name != AF_UNIX)
		return NULL;
	*error = -ECONNREFUSED;
	if (!name[2])
		found = find_abstract(name, size);
	else {
		char path[112] = "";
		memcpy(path, name + 2, size - 2);
		int e = path_open(AT_FDCWD, path, &p, true);
		if (!e) {
			e = permission(p.inode, 2);
			found = p.inode->data_socket;
			path_put(&p);
		}
		if (e) {
			*error = e;
			return NULL;
		}
	}
	if (found && found->type != s->type) {
		*error = -EPROTOTYPE;
		return NULL;
	}
	return found;
}

static void divorce(struct local *u)
{
	struct socket *peer = u->peer;
	u->peer = NULL;
	if (peer)
		socket_put(peer);
}

static int connect(struct socket *s, const u8 *name, u32 size)
{
	struct local *u = un(s);
	int error;
	if (s->type == SOCK_DGRAM && size >= 2 && *(u16 *)name == 0) {
		divorce(u);
		return 0;
	}
	if (u->peer && s->type != SOCK_DGRAM)
		return -EISCONN;
	if (s->listening)
		return -EINVAL;
	struct socket *to = find(s, name, size, &error);
	if (!to)
		return error;
	if (s->type == SOCK_DGRAM) {
		divorce(u);
		u->peer = to;
		socket_get(to);
		return 0;
	}
	if (!to->listening)
		return -ECONNREFUSED;
	struct local *l = un(to);
	if (l->backlog_size > l->backlog_room) {
		if (s->nonblock)
			return -EAGAIN;
		socket_get(to);
		error = WAIT_UNTIL(&to->wait, l->backlog_size <= l->backlog_room || !to->listening, deadline(s->send_timeout));
		bool listening = to->listening;
		socket_put(to);
		if (error || !listening)
			return error == -ETIMEDOUT ? -EAGAIN : error ? error : -ECONNREFUSED;
	}
	/* The other end exists from now on; accept gives it a descriptor. */
	struct socket *other = socket_new(AF_UNIX, s->type, 0);
	if (!other || unix_open(other))
		return -ENOMEM;
	other->ops = s->ops;
	marry(s, other);
	memcpy(un(other)->name, l->name, l->name_size);
	un(other)->name_size = l->name_size;
	s->peer_cred = to->cred;
	other->peer_cred = (struct ucred){ self()->pid, self()->cred.euid, self()->cred.egid };
	link_append(&l->backlog, &un(other)->waiting);
	l->backlog_size++;
	wake_all(&to->wait);
	return 0;
}

static int listen(struct socket *s, u32 backlog)
{
	if (s->type == SOCK_DGRAM)
		return -EOPNOTSUPP;
	if (!un(s)->name_size)
		return -EINVAL;
	s->listening = true;
	s->cred = (struct ucred){ self()->pid, self()->cred.euid, self()->cred.egid };
	un(s)->backlog_room = MIN(backlog, 4096u);
	return 0;
}

static int accept(struct socket *s, struct socket *fresh)
{
	struct local *l = un(s), *u;
	if (link_empty(&l->backlog)) {
		if (s->nonblock)
			return -EAGAIN;
		int error = WAIT_UNTIL(&s->wait, !link_empty(&l->backlog) || s->shut_read, deadline(s->receive_timeout));
		if (error)
			return error == -ETIMEDOUT ? -EAGAIN : error;
		if (link_empty(&l->backlog))
			return -EINVAL;
	}
	u = FIRST(&l->backlog, struct local, waiting);
	link_remove(&u->waiting);
	l->backlog_size--;
	wake_all(&s->wait);
	/* The waiting end becomes the fresh socket: state, queue and the peer's pointer move over. */
	struct socket *old = u->socket;
	kfree(fresh->own);
	fresh->own = u;
	u->socket = fresh;
	fresh->peer_cred = old->peer_cred;
	fresh->shut_read = old->shut_read;
	fresh->shut_write = old->shut_write;
	while (!link_empty(&old->queue)) {
		struct packet *p = FIRST(&old->queue, struct packet, link);
		link_remove(&p->link);
		link_append(&fresh->queue, &p->link);
	}
	fresh->queued = old->queued;
	if (u->peer) {
		un(u->peer)->peer = fresh;
		socket_get(fresh);
		wake_all(&u->peer->wait);
		socket_put(old);
	}
	old->own = NULL;
	socket_put(old);
	return 0;
}

static bool room_for(struct socket *to, size_t n)
{
	return to->queued == 0 || to->queued + n + 256 <= to->buffer;
}

static int wait_room(struct socket *s, struct socket *to, size_t n, struct message *m)
{
	if (room_for(to, n) || to->shut_read || !to->own)
		return 0;
	if (no_wait(s, m))
		return -EAGAIN;
	int error = WAIT_UNTIL(&to->wait, room_for(to, n) || to->shut_read || un(s)->peer_gone || s->shut_write, deadline(s->send_timeout));
	return error == -ETIMEDOUT ? -EAGAIN : error;
}

static struct packet *pack(struct socket *s, struct message *m, size_t n)
{
	struct local *u = un(s);
	struct packet *p = packet_new(NULL, n);
	if (!p)
		return ERR_PTR(-ENOBUFS);
	if (uio_in(m->data, p->data, n)) {
		packet_free(p);
		return ERR_PTR(-EFAULT);
	}
	memcpy(p->from, u->name, u->name_size);
	p->from_size = u->name_size;
	p->cred = (struct ucred){ self()->pid, self()->cred.uid, self()->cred.gid };
	p->has_cred = true;
	return p;
}

static void give_files(struct packet *p, struct message *m)
{
	memcpy(p->file, m->file, sizeof p->file);
	p->files = m->files;
	m->files = 0;
}

static ssize_t send_stream(struct socket *s, struct message *m)
{
	struct local *u = un(s);
	size_t done = 0;
	if (m->name_size)
		return u->peer ? -EISCONN : -EOPNOTSUPP;
	if (!u->peer)
		return u->peer_gone ? broken_pipe(m) : -ENOTCONN;
	do {
		size_t n = MIN(m->data->left, 16384UL);
		struct socket *to = u->peer;
		if (s->shut_write || !to || to->shut_read)
			return done ? (ssize_t)done : broken_pipe(m);
		struct packet *p = pack(s, m, n);
		if (IS_ERR(p))
			return done ? (ssize_t)done : PTR_ERR(p);
		to = u->peer;
		int error = 0;
		if (to) {
			socket_get(to);
			error = wait_room(s, to, n, m);
			if (!error && (u->peer != to || to->shut_read))
				error = u->peer && u->peer != to && !u->peer->shut_read ? 0 : -EPIPE;
			socket_put(to);
			to = u->peer;
		}
		if (error || !to) {
			packet_free(p);
			return done ? (ssize_t)done : error == -EPIPE || !to ? broken_pipe(m) : error;
		}
		give_files(p, m);
		if (n || p->files)
			queue_packet(to, p);
		else
			packet_free(p);
		done += n;
	} while (m->data->left);
	return done;
}

static ssize_t send_packet(struct socket *s, struct message *m)
{
	struct local *u = un(s);
	struct socket *to = u->peer;
	int error = 0;
	size_t n = m->data->left;
	if (m->name_size && s->type == SOCK_DGRAM) {
		to = find(s, m->name, m->name_size, &error);
		if (!to)
			return error;
	}
	if (!to)
		return u->peer_gone ? s->type == SOCK_DGRAM ? -ECONNREFUSED : broken_pipe(m) : -ENOTCONN;
	if (n > s->buffer - 256)
		return -EMSGSIZE;
	if (s->shut_write)
		return broken_pipe(m);
	socket_get(to);
	struct packet *p = pack(s, m, n);
	error = IS_ERR(p) ? PTR_ERR(p) : to->own ? wait_room(s, to, n, m) : -ECONNREFUSED;
	if (!error && (!to->own || to->shut_read))
		error = s->type == SOCK_DGRAM ? -ECONNREFUSED : -EPIPE;
	if (!error) {
		give_files(p, m);
		queue_packet(to, p);
	} else if (!IS_ERR(p))
		packet_free(p);
	socket_put(to);
	return error == -EPIPE ? broken_pipe(m) : error ? error : (ssize_t)n;
}

static ssize_t send(struct socket *s, struct message *m)
{
	return s->type == SOCK_STREAM ? send_stream(s, m) : send_packet(s, m);
}

static bool readable(struct socket *s)
{
	return !link_empty(&s->queue) || s->shut_read || un(s)->peer_gone || s->error;
}

static ssize_t receive_stream(struct socket *s, struct message *m)
{
	struct local *u = un(s);
	size_t done = 0;
	if (!u->peer && !u->peer_gone && link_empty(&s->queue))
		return s->listening ? -EINVAL : -ENOTCONN;
	while (m->data->left) {
		if (link_empty(&s->queue)) {
			if (done && !(m->flags & MSG_WAITALL))
				break;
			if (s->error)
				return done ? (ssize_t)done : take_error(s);
			if (s->shut_read || u->peer_gone)
				break;
			if (no_wait(s, m))
				return done ? (ssize_t)done : -EAGAIN;
			int error = WAIT_UNTIL(&s->wait, readable(s), deadline(s->receive_timeout));
			if (error)
				return done ? (ssize_t)done : error == -ETIMEDOUT ? -EAGAIN : error;
			continue;
		}
		struct packet *p = FIRST(&s->queue, struct packet, link);
		if (p->files && done)
			break;		/* descriptors come with the first of their bytes */
		if (m->flags & MSG_PEEK) {
			struct packet *q;
			EACH(q, &s->queue, link) {
				size_t n = MIN(q->size - q->taken, m->data->left);
				if (uio_out(m->data, q->data + q->taken, n))
					return -EFAULT;
				done += n;
			}
			break;
		}
		size_t n = MIN(p->size - p->taken, m->data->left), from = p->taken;
		m->cred = p->cred;
		m->has_cred = true;
		if (p->files) {
			m->files = p->files;
			memcpy(m->file, p->file, sizeof m->file);
			p->files = 0;
		}
		p->taken += n;
		bool whole = p->taken == p->size;
		if (whole) {
			link_remove(&p->link);
			s->queued -= p->size + 256;
		}
		int error = uio_out(m->data, p->data + from, n);
		if (whole)
			packet_free(p);
		wake_all(&s->wait);
		if (u->peer)
			wake_all(&u->peer->wait);
		if (error)
			return done ? (ssize_t)done : error;
		done += n;
	}
	return done;
}

static ssize_t receive(struct socket *s, struct message *m)
{
	struct local *u = un(s);
	if (s->type == SOCK_STREAM)
		return receive_stream(s, m);
	if (s->type == SOCK_SEQPACKET && !u->peer && !u->peer_gone)
		return -ENOTCONN;
	if (s->type == SOCK_SEQPACKET && u->peer_gone && link_empty(&s->queue))
		return 0;
	ssize_t n = receive_packet(s, m);
	if (u->peer)
		wake_all(&u->peer->wait);
	return n;
}

static int shutdown(struct socket *s, int how)
{
	struct local *u = un(s);
	if (!u->peer && !u->peer_gone && s->type != SOCK_DGRAM)
		return -ENOTCONN;
	if (how != 1)
		s->shut_read = true;
	if (how != 0)
		s->shut_write = true;
	if (u->peer && s->type != SOCK_DGRAM) {
		if (how != 0)
			u->peer->shut_read = true;
		if (how != 1)
			u->peer->shut_write = true;
		wake_all(&u->peer->wait);
	}
	wake_all(&s->wait);
	return 0;
}

static int name_of(struct socket *s, bool peer, u8 *name)
{
	struct local *u = un(s);
	if (peer) {
		if (!u->peer || !u->peer->own)
			return -ENOTCONN;
		u = un(u->peer);
	}
	*(u16 *)name = AF_UNIX;
	memcpy(name, u->name, u->name_size);
	return u->name_size ? u->name_size : 2;
}

static u32 poll(struct socket *s, struct poll_table *t)
{
	struct local *u = un(s);
	u32 events = 0;
	if (s->listening)
		return link_empty(&u->backlog) ? 0 : POLLIN | POLLRDNORM;
	if (!link_empty(&s->queue) || s->shut_read || (u->peer_gone && s->type != SOCK_DGRAM))
		events |= POLLIN | POLLRDNORM;
	if (s->shut_read)
		events |= POLLRDHUP;
	if (s->type != SOCK_DGRAM && (u->peer_gone || (!u->peer && !s->listening) || (s->shut_read && s->shut_write)))
		events |= POLLHUP | (u->peer_gone ? POLLRDHUP : 0);
	if (s->error)
		events |= POLLERR;
	if (u->peer ? room_for(u->peer, 4096) || u->peer->shut_read : s->type == SOCK_DGRAM || u->peer_gone)
		events |= POLLOUT | POLLWRNORM;
	return events;
}

static i64 ioctl(struct socket *s, u32 command, u64 arg)
{
	struct packet *p;
	i32 n = 0;
	if (command != FIONREAD)
		return -ENOTTY;
	EACH(p, &s->queue, link) {
		n += p->size - p->taken;
		if (s->type != SOCK_STREAM)
			break;
	}
	return copy_out(arg, &n, 4);
}

static void release(struct socket *s)
{
	struct local *u = un(s);
	if (!u)
		return;
	link_remove(&u->named);
	s->listening = false;
	if (u->node.inode) {
		if (u->node.inode->data_socket == s)
			u->node.inode->data_socket = NULL;
		path_put(&u->node);
	}
	while (!link_empty(&u->backlog)) {
		struct local *w = FIRST(&u->backlog, struct local, waiting);
		struct socket *waiting = w->socket;
		link_remove(&w->waiting);
		release(waiting);
		socket_put(waiting);
	}
	struct socket *peer = u->peer;
	if (peer && s->type != SOCK_DGRAM && peer->own) {
		struct local *p = un(peer);
		if (p->peer == s) {
			p->peer = NULL;
			p->peer_gone = true;
			peer->shut_read |= s->type == SOCK_SEQPACKET;	/* what has come is read first */
			if (!link_empty(&s->queue))
				peer->error = ECONNRESET;
			socket_put(s);
		}
		wake_all(&peer->wait);
	} else if (peer && peer->own && un(peer)->peer == s) {
		un(peer)->peer = NULL;
		un(peer)->peer_gone = true;
		socket_put(s);
		wake_all(&peer->wait);
	}
	s->own = NULL;
	s->shut_read = true;
	wake_all(&s->wait);
	divorce(u);
	kfree(u);
}

const struct socket_ops unix_ops = { .bind = bind, .connect = connect, .listen = listen, .accept = accept, .send = send,
	.receive = receive, .shutdown = shutdown, .name = name_of, .poll = poll, .ioctl = ioctl, .release = release };
