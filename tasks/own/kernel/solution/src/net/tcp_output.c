/* TCP: what is sent, and again when it is lost. */
#include "tcp.h"

#define SECOND 1000000000UL
#define RTO_LEAST (SECOND / 5)
#define RTO_MOST (8 * SECOND)

static u32 room(struct tcp *t) { return TCP_BUFFER - t->receive_size; }

static void put(struct tcp *t, u32 from, u32 to, u16 from_port, u16 to_port, u32 sequence, u32 ack, u8 flags, u32 window, u32 size)
{
	static u8 segment[sizeof(struct tcp_header) + 4 + 16384];
	struct tcp_header *h = (void *)segment;
	u32 header = sizeof *h;
	*h = (struct tcp_header){ from_port, to_port, be32(sequence), be32(ack), 0, flags, be16(MIN(window, 65535u)) };
	if (flags & SYN && t) {
		u8 *o = segment + header;
		o[0] = 2;
		o[1] = 4;
		o[2] = t->mss >> 8;
		o[3] = t->mss;
		header += 4;
	}
	h->offset = header / 4 << 4;
	for (u32 n = 0; n < size;) {
		u32 at = (sequence + n) % TCP_BUFFER, part = MIN(size - n, TCP_BUFFER - at);
		memcpy(segment + header + n, t->send + at, part);
		n += part;
	}
	h->sum = checksum(segment, header + size, pseudo_sum(from, to, IPPROTO_TCP, header + size));
	ip_send(from, to, IPPROTO_TCP, segment, header + size, 64);
}

void tcp_segment(struct tcp *t, u32 sequence, u8 flags, u32 size)
{
	u32 window = flags & RST ? 0 : t->receive ? room(t) : 65535;
	if (flags & ACK)
		t->advertised = t->expected + MIN(window, 65535u);
	put(t, t->local, t->remote, t->local_port, t->remote_port, sequence, flags & ACK ? t->expected : 0, flags, window, size);
}

void tcp_reset_to(const struct ip *ip, const struct tcp_header *h, u32 size)
{
	if (h->flags & RST)
		return;
	if (h->flags & ACK)
		put(NULL, ip->to, ip->from, h->to, h->from, be32(h->ack), 0, RST, 0, 0);
	else
		put(NULL, ip->to, ip->from, h->to, h->from, 0, be32(h->sequence) + size, RST | ACK, 0, 0);
}

/* Where the data that programs gave end; the FIN has this number. */
u32 tcp_send_end(struct tcp *t) { return t->una + t->send_size; }

static void arm(struct tcp *t) { timer_set(&t->timer, now_ns() + MIN(t->rto << MIN(t->retries, 6u), RTO_MOST)); }

static void send_data(struct tcp *t, u32 sequence, u32 size)
{
	u32 end = tcp_send_end(t);
	bool fin = t->fin_queued && sequence + size == end && size <= t->mss;
	if (!t->timing && sequence == t->highest && size) {
		t->timing = true;
		t->timed = sequence + size;
		t->timed_since = now_ns();
	}
	tcp_segment(t, sequence, ACK | (size && sequence + size == end ? PSH : 0) | (fin ? FIN : 0), size);
	if (fin)
		t->fin_sent = true;
}

void tcp_output(struct tcp *t, bool ack)
{
	if (t->state < ESTABLISHED || t->state == TIME_WAIT || t->state == FIN_WAIT_2) {
		if (ack)
			tcp_segment(t, t->next, ACK, 0);
		return;
	}
	u32 end = tcp_send_end(t), limit = t->una + MIN(t->window, t->cwnd);
	bool sent = false;
	while (before(t->next, end + t->fin_queued)) {
		u32 size = before(t->next, end) ? MIN(end - t->next, (u32)t->mss) : 0;
		if (size && before(limit, t->next + size)) {
			u32 fits = after(limit, t->next) ? limit - t->next : 0;
			/* A part of a segment only when nothing else is under way. */
			if (!fits || (t->next != t->una && fits < t->mss))
				break;
			size = fits;
		}
		if (!size && before(t->next, end))
			break;
		send_data(t, t->next, size);
		t->next += size;
		if (t->fin_queued && t->next == end)
			t->next = end + 1;
		if (after(t->next, t->highest))
			t->highest = t->next;
		sent = true;
	}
	if (ack && !sent)
		tcp_segment(t, t->next, ACK, 0);
	bool waiting = t->next != t->una || before(t->next, end + t->fin_queued);
	if (waiting && link_empty(&t->timer.link))
		arm(t);
}

/* The time for an answer is over. */
static void expired(struct timer *timer)
{
	struct tcp *t = HOLDER(timer, struct tcp, timer);
	if (t->state == TIME_WAIT || (t->state == FIN_WAIT_2 && !t->socket)) {
		tcp_over(t);
		return;
	}
	u32 most = t->state == SYN_SENT || t->state == SYN_RECEIVED ? 8 : 14;
	bool probe = !t->window && t->next == t->una && t->state >= ESTABLISHED;
	if (!probe && ++t->retries > most) {
		tcp_drop(t, ETIMEDOUT);
		return;
	}
	t->timing = false;
	switch (t->state) {
	case SYN_SENT:
		tcp_segment(t, t->una, SYN, 0);
		break;
	case SYN_RECEIVED:
		tcp_segment(t, t->una, SYN | ACK, 0);
		break;
	case CLOSED: case LISTEN: case FIN_WAIT_2:
		return;
	default:
		if (probe) {	/* one byte beyond the closed window */
			t->retries = MIN(t->retries + 1, 5u);
			if (t->send_size)
				send_data(t, t->una, 1);
			break;
		}
		t->threshold = MAX(MIN(t->window, t->cwnd) / 2, 4u * t->mss);
		t->cwnd = 2 * t->mss;
		t->recovering = false;
		t->duplicates = 0;
		t->next = t->una;
		tcp_output(t, false);
	}
	arm(t);
}

void tcp_wait(struct tcp *t)
{
	t->state = TIME_WAIT;
	kfree(t->send);
	t->send = NULL;
	t->send_size = 0;
	timer_set(&t->timer, now_ns() + 5 * SECOND);
}

struct tcp *tcp_new(struct socket *s)
{
	struct tcp *t = kmalloc(sizeof *t);
	if (!t)
		return NULL;
	t->socket = s;
	link_init(&t->backlog);
	link_init(&t->waiting);
	link_init(&t->early);
	link_init(&t->timer.link);
	t->timer.fire = expired;
	t->mss = 536;
	t->rto = SECOND / 2;
	link_append(&tcp_all, &t->all);
	return t;
}

bool tcp_buffers(struct tcp *t)
{
	t->mss = (t->remote & 0xff) == 127 || ip_is_mine(t->remote) ? 16344 : eth0.mtu - 40;
	t->send = kmalloc(TCP_BUFFER);
	t->receive = kmalloc(TCP_BUFFER);
	t->cwnd = 4 * t->mss;
	t->threshold = 1 << 30;
	t->una = t->next = t->highest = random_u64();
	return t->send && t->receive;
}

void tcp_free(struct tcp *t)
{
	timer_cancel(&t->timer);
	link_remove(&t->all);
	if (!link_empty(&t->waiting)) {
		link_remove(&t->waiting);
		t->parent->backlog_size--;
	} else if (t->parent)
		t->parent->embryos--;
	while (!link_empty(&t->early)) {
		struct early *e = FIRST(&t->early, struct early, link);
		link_remove(&e->link);
		kfree(e);
	}
	kfree(t->send);
	kfree(t->receive);
	if (t->socket)
		t->socket->own = NULL;
	kfree(t);
}

void tcp_wake(struct tcp *t)
{
	if (t->socket)
		wake_all(&t->socket->wait);
}

/* Both sides have said all. What came and was not read yet stays while somebody has the socket. */
void tcp_over(struct tcp *t)
{
	if (!t->socket) {
		tcp_free(t);
		return;
	}
	t->state = CLOSED;
	timer_cancel(&t->timer);
	tcp_wake(t);
}

/* The connection is over at once. */
void tcp_drop(struct tcp *t, int error)
{
	t->state = CLOSED;
	timer_cancel(&t->timer);
	if (!t->socket) {
		tcp_free(t);
		return;
	}
	t->socket->error = error;
	t->fin_received = true;
	t->send_size = 0;
	t->next = t->una;
	tcp_wake(t);
}
