/* Sockets: what their families share. */
#pragma once
#include "fs.h"

enum {
	AF_UNIX = 1, AF_INET = 2, AF_PACKET = 17, SOCK_STREAM = 1, SOCK_DGRAM = 2, SOCK_RAW = 3, SOCK_SEQPACKET = 5,
	MSG_PEEK = 2, MSG_CTRUNC = 8, MSG_TRUNC = 0x20, MSG_DONTWAIT = 0x40, MSG_EOR = 0x80, MSG_WAITALL = 0x100,
	MSG_NOSIGNAL = 0x4000, MSG_CMSG_CLOEXEC = 0x40000000, SOL_SOCKET = 1, MAX_FILES = 16
};

struct ucred { i32 pid; u32 uid, gid; };

/* A piece of data on its way. */
struct packet {
	struct link link;
	size_t size, taken;
	u8 from[128];
	u32 from_size;
	struct file *file[MAX_FILES];
	u32 files;
	struct ucred cred;
	bool has_cred, end;
	u8 *data;
};

struct message {
	struct uio *data;
	u8 name[128];
	u32 name_size;
	struct file *file[MAX_FILES];
	u32 files;
	u32 flags, out_flags;
	struct ucred cred;
	bool has_cred;
};

struct socket;
struct socket_ops {
	int (*bind)(struct socket *s, const u8 *name, u32 size);
	int (*connect)(struct socket *s, const u8 *name, u32 size);
	int (*listen)(struct socket *s, u32 backlog);
	int (*accept)(struct socket *s, struct socket *fresh);
	ssize_t (*send)(struct socket *s, struct message *m);
	ssize_t (*receive)(struct socket *s, struct message *m);
	int (*shutdown)(struct socket *s, int how);
	int (*name)(struct socket *s, bool peer, u8 *name);	/* size or error */
	int (*set)(struct socket *s, int level, int option, const void *value, u32 size);
	int (*get)(struct socket *s, int level, int option, void *value, u32 *size);
	u32 (*poll)(struct socket *s, struct poll_table *t);
	i64 (*ioctl)(struct socket *s, u32 command, u64 arg);
	void (*release)(struct socket *s);
};

struct socket {
	u32 refs;
	int family, type, protocol;
	const struct socket_ops *ops;
	void *own;
	struct waitqueue wait;
	struct link queue;		/* of packets */
	size_t queued;
	u64 receive_timeout, send_timeout;	/* ns; 0: none */
	int error;
	bool shut_read, shut_write, nonblock, reuse, pass_cred, listening, broadcast, resets;	/* the last: nothing lingers when it is closed */
	u32 buffer;
	struct ucred cred, peer_cred;
};

#define QUEUE_ROOM 212992

struct socket *socket_new(int family, int type, int protocol);
void socket_get(struct socket *s);
void socket_put(struct socket *s);
struct packet *packet_new(const void *data, size_t n);
void packet_free(struct packet *p);
void queue_packet(struct socket *s, struct packet *p);
/* Takes (or looks at) the first packet and copies it out; for datagram kinds. */
ssize_t receive_packet(struct socket *s, struct message *m);
int take_error(struct socket *s);
static inline u64 deadline(u64 timeout) { return timeout ? now_ns() + timeout : 0; }
static inline bool no_wait(struct socket *s, struct message *m) { return s->nonblock || m->flags & MSG_DONTWAIT; }
ssize_t broken_pipe(struct message *m);

extern const struct socket_ops unix_ops, udp_ops, tcp_ops, raw_ops, packet_ops;
int unix_pair(struct socket *a, struct socket *b);
