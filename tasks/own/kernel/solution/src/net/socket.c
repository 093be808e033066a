/* Sockets as files, and the system calls on them. */
#include "socket.h"
#include "without.h"

int uio_pieces(struct uio *u, u64 vector, u64 count, struct iovec **out);
i64 interface_ioctl(u32 command, u64 arg);

static const struct file_ops socket_file_ops;

struct socket *socket_new(int family, int type, int protocol)
{
	struct socket *s = kmalloc(sizeof *s);
	if (!s)
		return NULL;
	s->refs = 1;
	s->family = family;
	s->type = type;
	s->protocol = protocol;
	s->buffer = QUEUE_ROOM;
	s->cred = (struct ucred){ self()->pid, self()->cred.euid, self()->cred.egid };
	waitqueue_init(&s->wait);
	link_init(&s->queue);
	return s;
}

void socket_get(struct socket *s) { s->refs++; }

void socket_put(struct socket *s)
{
	if (--s->refs)
		return;
	while (!link_empty(&s->queue)) {
		struct packet *p = FIRST(&s->queue, struct packet, link);
		link_remove(&p->link);
		packet_free(p);
	}
	kfree(s);
}

struct packet *packet_new(const void *data, size_t n)
{
	struct packet *p = kmalloc(sizeof *p + n);
	if (!p)
		return NULL;
	link_init(&p->link);
	p->data = (u8 *)(p + 1);
	p->size = n;
	if (data)
		memcpy(p->data, data, n);
	return p;
}

void packet_free(struct packet *p)
{
	for (u32 i = 0; i < p->files; i++)
		file_put(p->file[i]);
	kfree(p);
}

void queue_packet(struct socket *s, struct packet *p)
{
	link_append(&s->queue, &p->link);
	s->queued += p->size + 256;
	wake_all(&s->wait);
}

int take_error(struct socket *s)
{
	int e = s->error;
	s->error = 0;
	return -e;
}

ssize_t broken_pipe(struct message *m)
{
	if (!(m->flags & MSG_NOSIGNAL)) {
		struct siginfo info;
		signal_info_user(&info, SIGPIPE, SI_USER);
		signal_task(current(), SIGPIPE, &info);
	}
	return -EPIPE;
}

ssize_t receive_packet(struct socket *s, struct message *m)
{
	if (link_empty(&s->queue) && !s->error && !s->shut_read) {
		if (no_wait(s, m))
			return -EAGAIN;
		int error = WAIT_UNTIL(&s->wait, !link_empty(&s->queue) || s->error || s->shut_read, deadline(s->receive_timeout));
		if (error)
			return error == -ETIMEDOUT ? -EAGAIN : error;
	}
	if (link_empty(&s->queue))
		return s->error ? take_error(s) : 0;
	struct packet *p = FIRST(&s->queue, struct packet, link);
	bool peek = m->flags & MSG_PEEK;
	if (!peek) {
		link_remove(&p->link);
		s->queued -= p->size + 256;
	}
	size_t n = MIN(p->size, m->data->left), size = p->size;
	memcpy(m->name, p->from, p->from_size);
	m->name_size = p->from_size;
	m->cred = p->cred;
	m->has_cred = p->has_cred;
	if (n < size)
		m->out_flags |= MSG_TRUNC;
	ssize_t result = uio_out(m->data, p->data, n);
	if (!peek) {
		m->files = p->files;
		memcpy(m->file, p->file, sizeof m->file);
		p->files = 0;
		packet_free(p);
		wake_all(&s->wait);
	}
	return result ? result : (ssize_t)(m->flags & MSG_TRUNC ? size : n);
}

static struct socket *of(i32 fd, struct file **file)
{
	struct file *f = fd_get(fd);
	if (!f)
		return ERR_PTR(-EBADF);
	if (f->ops != &socket_file_ops) {
		file_put(f);
		return ERR_PTR(-ENOTSOCK);
	}
	struct socket *s = f->data;
	s->nonblock = f->flags & O_NONBLOCK;
	*file = f;
	return s;
}

static ssize_t file_read_socket(struct file *f, struct uio *u, u64 *pos)
{
	struct socket *s = f->data;
	struct message *m = kmalloc(sizeof *m);
	if (!m)
		return -ENOMEM;
	m->data = u;
	s->nonblock = f->flags & O_NONBLOCK;
	ssize_t n = s->ops->receive(s, m);
	for (u32 i = 0; i < m->files; i++)
		file_put(m->file[i]);
	kfree(m);
	return n;
}

static ssize_t file_write_socket(struct file *f, struct uio *u, u64 *pos)
{
	struct socket *s = f->data;
	struct message *m = kmalloc(sizeof *m);
	if (!m)
		return -ENOMEM;
	m->data = u;
	s->nonblock = f->flags & O_NONBLOCK;
	ssize_t n = s->ops->send(s, m);
	kfree(m);
	return n;
}

static u32 file_poll(struct file *f, struct poll_table *t)
{
	struct socket *s = f->data;
	poll_wait(t, &s->wait);
	return s->ops->poll(s, t);
}

static i64 file_ioctl(struct file *f, u32 command, u64 arg)
{
	struct socket *s = f->data;
	if (command >= 0x8900 && command < 0x8a00)
		return interface_ioctl(command, arg);
	if (s->ops->ioctl)
		return s->ops->ioctl(s, command, arg);
	if (command == FIONREAD) {
		i32 n = link_empty(&s->queue) ? 0 : FIRST(&s->queue, struct packet, link)->size;
		return copy_out(arg, &n, 4);
	}
	return -ENOTTY;
}

static void file_release(struct file *f)
{
	struct socket *s = f->data;
	s->ops->release(s);
	socket_put(s);
}

static const struct file_ops socket_file_ops = { .read = file_read_socket, .write = file_write_socket, .poll = file_poll,
	.ioctl = file_ioctl, .release = file_release, .no_seek = true };

static i64 install(struct socket *s, u32 flags)
{
	struct file *f = file_anonymous(&socket_file_ops, s, O_RDWR | (flags & O_NONBLOCK), "socket");
	if (!f) {
		s->ops->release(s);
		socket_put(s);
		return -ENOMEM;
	}
	return fd_install(f, 0, flags & O_CLOEXEC);
}

static const struct socket_ops *choose(int family, int type, int *protocol)
{
#ifdef WITHOUT_UNIX_SOCKETS
	if (family == AF_UNIX)
		return ERR_PTR(-EAFNOSUPPORT);
#endif
#ifdef WITHOUT_NETWORK
	if (family != AF_UNIX)
		return ERR_PTR(-EAFNOSUPPORT);
#endif
#ifdef WITHOUT_TCP
	if (family == AF_INET && type == SOCK_STREAM)
		return ERR_PTR(-EPROTONOSUPPORT);
#endif
	if (family == AF_UNIX)
		return type == SOCK_STREAM || type == SOCK_DGRAM || type == SOCK_SEQPACKET ? &unix_ops : ERR_PTR(-ESOCKTNOSUPPORT);
	if (family == AF_PACKET)
		return !capable() ? ERR_PTR(-EPERM) : type == SOCK_RAW || type == SOCK_DGRAM ? &packet_ops : ERR_PTR(-ESOCKTNOSUPPORT);
	if (family != AF_INET)
		return ERR_PTR(-EAFNOSUPPORT);
	if (type == SOCK_STREAM)
		return *protocol == 0 || *protocol == 6 ? &tcp_ops : ERR_PTR(-EPROTONOSUPPORT);
	if (type == SOCK_DGRAM)
		return *protocol == 0 || *protocol == 17 ? &udp_ops : *protocol == 1 ? &raw_ops : ERR_PTR(-EPROTONOSUPPORT);
	if (type == SOCK_RAW)
		return capable() ? &raw_ops : ERR_PTR(-EPERM);
	return ERR_PTR(-ESOCKTNOSUPPORT);
}

int socket_open(struct socket *s);

static struct socket *make(int family, int type, int protocol)
{
	const struct socket_ops *ops = choose(family, type, &protocol);
	if (IS_ERR(ops))
		return (struct socket *)ops;
	struct socket *s = socket_new(family, type, protocol);
	if (!s)
		return ERR_PTR(-ENOMEM);
	s->ops = ops;
	int error = socket_open(s);
	if (error) {
		socket_put(s);
		return ERR_PTR(error);
	}
	return s;
}

i64 sys_socket(i32 family, u32 type, i32 protocol)
{
	if (type & ~(0xfu | O_NONBLOCK | O_CLOEXEC))
		return -EINVAL;
	struct socket *s = make(family, type & 0xf, protocol);
	return IS_ERR(s) ? PTR_ERR(s) : install(s, type);
}

i64 sys_close(u32 fd);

i64 sys_socketpair(i32 family, u32 type, i32 protocol, u64 out)
{
	if (family != AF_UNIX)
		return family == AF_INET ? -EOPNOTSUPP : -EAFNOSUPPORT;
	struct socket *a = make(family, type & 0xf, 0), *b;
	if (IS_ERR(a))
		return PTR_ERR(a);
	b = make(family, type & 0xf, 0);
	if (IS_ERR(b)) {
		a->ops->release(a);
		socket_put(a);
		return PTR_ERR(b);
	}
	unix_pair(a, b);
	i32 fd[2];
	fd[0] = install(a, type);
	fd[1] = install(b, type);
	if (fd[0] < 0 || fd[1] < 0 || copy_out(out, fd, sizeof fd)) {
		i32 error = fd[0] < 0 ? fd[0] : fd[1] < 0 ? fd[1] : -EFAULT;
		if (fd[0] >= 0)
			sys_close(fd[0]);
		if (fd[1] >= 0)
			sys_close(fd[1]);
		return error;
	}
	return 0;
}

static int name_in(u8 name[128], u64 at, u32 size)
{
	if (size > 128)
		return -EINVAL;
	memset(name, 0, 128);
	return copy_in(name, at, size);
}

static int name_out(u64 at, u64 size_at, const u8 *name, u32 size)
{
	u32 room;
	if (!at || !size_at)
		return 0;
	if (copy_in(&room, size_at, 4))
		return -EFAULT;
	if ((i32)room < 0)
		return -EINVAL;
	return copy_out(at, name, MIN(room, size)) || copy_out(size_at, &size, 4) ? -EFAULT : 0;
}

#define WITH_SOCKET(fd, expression) ({ \
	struct file *f_; \
	struct socket *s = of(fd, &f_); \
	i64 result_ = PTR_ERR(s); \
	if (!IS_ERR(s)) { \
		result_ = (expression); \
		file_put(f_); \
	} \
	result_; })

i64 sys_bind(i32 fd, u64 at, u32 size)
{
	u8 name[128];
	int error = name_in(name, at, size);
	return WITH_SOCKET(fd, error ? error : s->ops->bind ? s->ops->bind(s, name, size) : -EOPNOTSUPP);
}

i64 sys_connect(i32 fd, u64 at, u32 size)
{
	u8 name[128];
	int error = name_in(name, at, size);
	return WITH_SOCKET(fd, error ? error : s->ops->connect ? s->ops->connect(s, name, size) : -EOPNOTSUPP);
}

i64 sys_listen(i32 fd, i32 backlog)
{
	return WITH_SOCKET(fd, s->ops->listen ? s->ops->listen(s, backlog < 0 ? 4096 : MAX(backlog, 1)) : -EOPNOTSUPP);
}

static i64 accept(struct socket *s, u64 at, u64 size_at, u32 flags)
{
	u8 name[128];
	if (!s->ops->accept)
		return -EOPNOTSUPP;
	if (!s->listening)
		return -EINVAL;
	struct socket *fresh = make(s->family, s->type, s->protocol);
	if (IS_ERR(fresh))
		return PTR_ERR(fresh);
	int error = s->ops->accept(s, fresh);
	if (error) {
		fresh->ops->release(fresh);
		socket_put(fresh);
		return error;
	}
	int n = fresh->ops->name(fresh, true, name);
	socket_get(fresh);
	i64 fd = install(fresh, flags);
	if (fd >= 0 && n >= 0 && (error = name_out(at, size_at, name, n))) {
		sys_close(fd);
		fd = error;
	}
	socket_put(fresh);
	return fd;
}

i64 sys_accept4(i32 fd, u64 at, u64 size, u32 flags)
{
	if (flags & ~(O_NONBLOCK | O_CLOEXEC))
		return -EINVAL;
	return WITH_SOCKET(fd, accept(s, at, size, flags));
}

static i64 get_name(struct socket *s, bool peer, u64 at, u64 size_at)
{
	u8 name[128] = { 0 };
	int n = s->ops->name(s, peer, name);
	return n < 0 ? n : name_out(at, size_at, name, n);
}

i64 sys_getsockname(i32 fd, u64 at, u64 size) { return WITH_SOCKET(fd, get_name(s, false, at, size)); }
i64 sys_getpeername(i32 fd, u64 at, u64 size) { return WITH_SOCKET(fd, get_name(s, true, at, size)); }

i64 sys_shutdown(i32 fd, i32 how)
{
	if (how < 0 || how > 2)
		return -EINVAL;
	return WITH_SOCKET(fd, s->ops->shutdown ? s->ops->shutdown(s, how) : -EOPNOTSUPP);
}

static int set_common(struct socket *s, int option, const void *value, u32 size)
{
	i32 n = 0;
	if (option == 20 || option == 21) {
		struct timeval tv;
		if (size < sizeof tv)
			return -EINVAL;
		memcpy(&tv, value, sizeof tv);
		*(option == 20 ? &s->receive_timeout : &s->send_timeout) = tv.sec * 1000000000UL + tv.usec * 1000;
		return 0;
	}
	if (size >= 4)
		memcpy(&n, value, 4);
	switch (option) {
	case 2: case 15: s->reuse = n; return 0;
	case 6: s->broadcast = n; return 0;
	case 7: case 8: case 32: case 33: s->buffer = MIN(MAX(n * 2, 4096), 1 << 20); return 0;
	case 16: s->pass_cred = n; return 0;
	case 13: {
		i32 linger[2];
		if (size < sizeof linger)
			return -EINVAL;
		memcpy(linger, value, sizeof linger);
		s->resets = linger[0] && !linger[1];
		return 0;
	}
	case 5: case 9: case 10: case 25: case 26: case 29: case 12: return 0;
	}
	return -ENOPROTOOPT;
}

static int get_common(struct socket *s, int option, void *value, u32 *size)
{
	i32 n;
	switch (option) {
	case 2: n = s->reuse; break;
	case 3: n = s->type; break;
	case 4: n = -take_error(s); break;
	case 6: n = s->broadcast; break;
	case 7: case 8: n = s->buffer; break;
	case 16: n = s->pass_cred; break;
	case 17: {
		if (s->family != AF_UNIX)
			return -EINVAL;
		memcpy(value, &s->peer_cred, sizeof s->peer_cred);
		*size = MIN(*size, (u32)sizeof s->peer_cred);
		return 0;
	}
	case 20: case 21: {
		u64 ns = option == 20 ? s->receive_timeout : s->send_timeout;
		struct timeval tv = { ns / 1000000000, ns % 1000000000 / 1000 };
		memcpy(value, &tv, sizeof tv);
		*size = MIN(*size, (u32)sizeof tv);
		return 0;
	}
	case 30: n = s->listening; break;
	case 38: n = s->protocol ? s->protocol : s->family == AF_INET ? s->type == SOCK_STREAM ? 6 : 17 : 0; break;
	case 39: n = s->family; break;
	case 5: case 9: case 10: case 13: n = 0; break;
	default: return -ENOPROTOOPT;
	}
	memcpy(value, &n, 4);
	*size = MIN(*size, 4u);
	return 0;
}

static i64 set_option(struct socket *s, i32 level, i32 option, u64 at, u32 size)
{
	u8 value[256] = { 0 };
	if ((i32)size < 0)
		return -EINVAL;
	if (copy_in(value, at, MIN(size, 256u)))
		return -EFAULT;
	if (level == SOL_SOCKET)
		return set_common(s, option, value, size);
	return s->ops->set ? s->ops->set(s, level, option, value, size) : -ENOPROTOOPT;
}

static i64 get_option(struct socket *s, i32 level, i32 option, u64 at, u64 size_at)
{
	u8 value[256] = { 0 };
	u32 size;
	if (copy_in(&size, size_at, 4))
		return -EFAULT;
	if ((i32)size < 0)
		return -EINVAL;
	int error = level == SOL_SOCKET ? get_common(s, option, value, &size)
		: s->ops->get ? s->ops->get(s, level, option, value, &size) : -ENOPROTOOPT;
	if (error)
		return error;
	size = MIN(size, 256u);
	return copy_out(at, value, size) || copy_out(size_at, &size, 4) ? -EFAULT : 0;
}

i64 sys_setsockopt(i32 fd, i32 level, i32 option, u64 at, u32 size) { return WITH_SOCKET(fd, set_option(s, level, option, at, size)); }
i64 sys_getsockopt(i32 fd, i32 level, i32 option, u64 at, u64 size) { return WITH_SOCKET(fd, get_option(s, level, option, at, size)); }

static i64 send_plain(struct socket *s, u64 buffer, u64 n, u32 flags, u64 at, u32 size)
{
	struct uio u;
	struct message *m = kmalloc(sizeof *m);
	if (!m)
		return -ENOMEM;
	uio_user(&u, buffer, MIN(n, 0x7ffff000UL));
	m->data = &u;
	m->flags = flags;
	i64 result = at ? name_in(m->name, at, size) : 0;
	m->name_size = at ? size : 0;
	if (!result)
		result = s->ops->send(s, m);
	kfree(m);
	return result;
}

i64 sys_sendto(i32 fd, u64 buffer, u64 n, u32 flags, u64 at, u32 size) { return WITH_SOCKET(fd, send_plain(s, buffer, n, flags, at, size)); }

static i64 receive_plain(struct socket *s, u64 buffer, u64 n, u32 flags, u64 at, u64 size_at)
{
	struct uio u;
	struct message *m = kmalloc(sizeof *m);
	if (!m)
		return -ENOMEM;
	uio_user(&u, buffer, MIN(n, 0x7ffff000UL));
	m->data = &u;
	m->flags = flags;
	i64 result = s->ops->receive(s, m);
	for (u32 i = 0; i < m->files; i++)
		file_put(m->file[i]);
	if (result >= 0 && at) {
		int error = name_out(at, size_at, m->name, m->name_size);
		result = error ? error : result;
	}
	kfree(m);
	return result;
}

i64 sys_recvfrom(i32 fd, u64 buffer, u64 n, u32 flags, u64 at, u64 size) { return WITH_SOCKET(fd, receive_plain(s, buffer, n, flags, at, size)); }

struct msghdr { u64 name; u32 name_size, pad; u64 iov, iov_count, control, control_size; u32 flags, pad2; };
struct cmsg { u64 size; i32 level, type; };

static int control_in(struct message *m, const struct msghdr *h)
{
	u8 room[1024];
	if (!h->control || !h->control_size)
		return 0;
	if (h->control_size > sizeof room)
		return -ENOBUFS;
	if (copy_in(room, h->control, h->control_size))
		return -EFAULT;
	for (u64 at = 0; at + sizeof(struct cmsg) <= h->control_size;) {
		struct cmsg *c = (struct cmsg *)(room + at);
		if (c->size < sizeof *c || c->size > h->control_size - at)
			return -EINVAL;
		if (c->level == SOL_SOCKET && c->type == 1) {
			u32 n = (c->size - sizeof *c) / 4;
			if (n + m->files > MAX_FILES)
				return -EINVAL;
			for (u32 i = 0; i < n; i++) {
				struct file *f = fd_get(((i32 *)(c + 1))[i]);
				if (!f)
					return -EBADF;
				m->file[m->files++] = f;
			}
		}
		at += ROUND_UP(c->size, 8);
	}
	return 0;
}

static i64 send_message(struct socket *s, u64 at, u32 flags)
{
	struct msghdr h;
	struct uio u;
	struct iovec *iov;
	if (copy_in(&h, at, sizeof h))
		return -EFAULT;
	i64 result = uio_pieces(&u, h.iov, h.iov_count, &iov);
	if (result)
		return result == -EINVAL ? -EMSGSIZE : result;
	struct message *m = kmalloc(sizeof *m);
	if (!m) {
		kfree(iov);
		return -ENOMEM;
	}
	m->data = &u;
	m->flags = flags;
	result = h.name ? name_in(m->name, h.name, h.name_size) : 0;
	m->name_size = h.name ? h.name_size : 0;
	if (!result)
		result = control_in(m, &h);
	if (!result)
		result = s->ops->send(s, m);
	for (u32 i = 0; i < m->files; i++)	/* what was sent has been taken out */
		file_put(m->file[i]);
	kfree(m);
	kfree(iov);
	return result;
}

i64 sys_sendmsg(i32 fd, u64 at, u32 flags) { return WITH_SOCKET(fd, send_message(s, at, flags)); }

static u64 control_put(struct msghdr *h, u64 used, i32 type, const void *data, u32 size, u32 *flags)
{
	struct cmsg c = { sizeof c + size, SOL_SOCKET, type };
	if (used + c.size > h->control_size) {
		*flags |= MSG_CTRUNC;
		return used;
	}
	if (copy_out(h->control + used, &c, sizeof c) || copy_out(h->control + used + sizeof c, data, size))
		return used;
	return used + MIN(ROUND_UP(c.size, 8), h->control_size - used);
}

static void control_out(struct socket *s, struct message *m, struct msghdr *h)
{
	u64 used = 0;
	if (s->pass_cred && m->has_cred)
		used = control_put(h, used, 2, &m->cred, sizeof m->cred, &m->out_flags);
	u32 fit = h->control_size > used + sizeof(struct cmsg) ? (h->control_size - used - sizeof(struct cmsg)) / 4 : 0;
	if (m->files) {
		i32 fds[MAX_FILES];
		u32 n = 0;
		for (u32 i = 0; i < m->files; i++) {
			i32 fd = i < fit ? fd_install(m->file[i], 0, m->flags & MSG_CMSG_CLOEXEC ? true : false) : -1;
			if (i >= fit) {
				file_put(m->file[i]);
				m->out_flags |= MSG_CTRUNC;
			}
			if (fd >= 0)
				fds[n++] = fd;
		}
		m->files = 0;
		if (n)
			used = control_put(h, used, 1, fds, 4 * n, &m->out_flags);
	}
	h->control_size = used;
}

static i64 receive_message(struct socket *s, u64 at, u32 flags)
{
	struct msghdr h;
	struct uio u;
	struct iovec *iov;
	if (copy_in(&h, at, sizeof h))
		return -EFAULT;
	i64 result = uio_pieces(&u, h.iov, h.iov_count, &iov);
	if (result)
		return result;
	struct message *m = kmalloc(sizeof *m);
	if (!m) {
		kfree(iov);
		return -ENOMEM;
	}
	m->data = &u;
	m->flags = flags;
	result = s->ops->receive(s, m);
	if (result >= 0) {
		if (!h.control)
			h.control_size = 0;
		control_out(s, m, &h);
		if (h.name && copy_out(h.name, m->name, MIN(h.name_size, m->name_size)))
			result = -EFAULT;
		h.name_size = h.name ? m->name_size : 0;
		h.flags = m->out_flags | (flags & MSG_CMSG_CLOEXEC);
		if (copy_out(at, &h, sizeof h))
			result = -EFAULT;
	}
	kfree(m);
	kfree(iov);
	return result;
}

i64 sys_recvmsg(i32 fd, u64 at, u32 flags) { return WITH_SOCKET(fd, receive_message(s, at, flags)); }

static i64 several(i32 fd, u64 vector, u32 count, u32 flags, bool send)
{
	i64 n = 0, result = 0;
	for (; n < count; n++) {
		result = send ? sys_sendmsg(fd, vector + 64 * n, flags) : sys_recvmsg(fd, vector + 64 * n, flags & ~0x10000u);
		u32 length = result;
		if (result < 0 || copy_out(vector + 64 * n + 56, &length, 4))
			break;
		if (!send && flags & 0x10000)
			flags |= MSG_DONTWAIT;
	}
	return n ? n : result;
}

i64 sys_sendmmsg(i32 fd, u64 v, u32 n, u32 flags) { return several(fd, v, n, flags, true); }
i64 sys_recvmmsg(i32 fd, u64 v, u32 n, u32 flags) { return several(fd, v, n, flags, false); }
