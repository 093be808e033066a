/* TCP: what its files share. */
#pragma once
#include "net.h"

enum tcp_state { CLOSED, LISTEN, SYN_SENT, SYN_RECEIVED, ESTABLISHED, FIN_WAIT_1, FIN_WAIT_2, CLOSING, TIME_WAIT, CLOSE_WAIT, LAST_ACK };

#define TCP_BUFFER 65536u	/* a power of two */
#define FIN 1
#define SYN 2
#define RST 4
#define PSH 8
#define ACK 16

struct tcp_header { u16 from, to; u32 sequence, ack; u8 offset, flags; u16 window, sum, urgent; } packed;

/* Data that came before what is in front of it. */
struct early { struct link link; u32 sequence, size; bool fin; u8 data[]; };

struct tcp {
	struct link all;
	struct socket *socket;		/* NULL: nobody has it open any more, or not yet */
	struct tcp *parent;		/* the listener, until accepted */
	struct link backlog, waiting;	/* a listener's finished connections */
	u32 backlog_size, backlog_room, embryos;
	enum tcp_state state;
	u32 local, remote;
	u16 local_port, remote_port;	/* network order */
	u32 una, next, highest, window, window_at, window_ack;
	u32 expected;			/* next byte from the peer */
	u32 advertised;			/* the window's end as it was told last */
	u16 mss;
	u8 *send, *receive;		/* rings, places by sequence number */
	u32 send_size, receive_size, read_at;
	bool fin_queued, fin_received, fin_sent, nodelay, bound_port;
	struct link early;
	u32 early_bytes;
	u32 cwnd, threshold, duplicates, recover;
	bool recovering, timing;
	u32 timed;
	u64 timed_since, srtt, rttvar, rto;
	u32 retries;
	struct timer timer;
};

extern struct link tcp_all;
struct tcp *tcp_new(struct socket *s);
bool tcp_buffers(struct tcp *t);
void tcp_free(struct tcp *t);
void tcp_drop(struct tcp *t, int error);
void tcp_over(struct tcp *t);
void tcp_output(struct tcp *t, bool ack);
void tcp_segment(struct tcp *t, u32 sequence, u8 flags, u32 size);
void tcp_reset_to(const struct ip *ip, const struct tcp_header *h, u32 size);
void tcp_wait(struct tcp *t);
void tcp_wake(struct tcp *t);
u32 tcp_send_end(struct tcp *t);
static inline bool before(u32 a, u32 b) { return (i32)(a - b) < 0; }
static inline bool after(u32 a, u32 b) { return (i32)(a - b) > 0; }
