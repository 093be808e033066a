/* TCP: what comes in. */
#include "tcp.h"

#define SECOND 1000000000UL

struct link tcp_all = LINK_INIT(tcp_all);

static struct tcp *find(const struct ip *ip, const struct tcp_header *h)
{
	struct tcp *t, *listener = NULL;
	EACH(t, &tcp_all, all) {
		if (t->local_port != h->to || t->state == CLOSED)
			continue;
		if (t->state == LISTEN) {
			if (!t->local || t->local == ip->to)
				if (!listener || t->local)
					listener = t;
		} else if (t->remote_port == h->from && t->remote == ip->from && t->local == ip->to)
			return t;
	}
	return listener;
}

static void read_options(struct tcp *t, const struct tcp_header *h)
{
	const u8 *o = (const u8 *)(h + 1), *end = (const u8 *)h + (h->offset >> 4) * 4;
	u16 mss = 536;
	while (o < end && *o) {
		if (*o == 1) {
			o++;
			continue;
		}
		if (o + 2 > end || o[1] < 2 || o + o[1] > end)
			break;
		if (*o == 2 && o[1] == 4)
			mss = o[2] << 8 | o[3];
		o += o[1];
	}
	t->mss = MAX(MIN(t->mss, mss), (u16)64);
	t->cwnd = 4 * t->mss;
}

static void set_window(struct tcp *t, u32 sequence, u32 ack, u16 window)
{
	if (before(t->window_at, sequence) || (t->window_at == sequence && !after(t->window_ack, ack))) {
		t->window = be16(window);
		t->window_at = sequence;
		t->window_ack = ack;
	}
}

static void listen_receive(struct tcp *l, const struct ip *ip, const struct tcp_header *h, u32 size)
{
	if (h->flags & RST)
		return;
	if (h->flags & ACK || !(h->flags & SYN)) {
		tcp_reset_to(ip, h, size);
		return;
	}
	if (l->backlog_size + l->embryos > l->backlog_room)
		return;
	struct tcp *t = tcp_new(NULL);
	if (!t)
		return;
	t->local = ip->to;
	t->remote = ip->from;
	t->local_port = h->to;
	t->remote_port = h->from;
	t->parent = l;
	l->embryos++;
	if (!tcp_buffers(t)) {
		tcp_free(t);
		return;
	}
	t->nodelay = l->nodelay;
	t->expected = t->read_at = be32(h->sequence) + 1;
	t->window = be16(h->window);
	t->window_at = be32(h->sequence);
	t->window_ack = t->una;
	t->state = SYN_RECEIVED;
	tcp_segment(t, t->una, SYN | ACK, 0);
	t->next = t->highest = t->una + 1;
	read_options(t, h);
	timer_set(&t->timer, now_ns() + t->rto);
}

static void established(struct tcp *t)
{
	t->una = t->next;
	t->state = ESTABLISHED;
	t->retries = 0;
	timer_cancel(&t->timer);
	if (t->parent) {
		t->parent->embryos--;
		t->parent->backlog_size++;
		link_append(&t->parent->backlog, &t->waiting);
		tcp_wake(t->parent);
	}
	tcp_wake(t);
}

static void syn_sent_receive(struct tcp *t, const struct ip *ip, const struct tcp_header *h, u32 size)
{
	u32 ack = be32(h->ack);
	if (h->flags & ACK && ack != t->next) {
		tcp_reset_to(ip, h, size);
		return;
	}
	if (h->flags & RST) {
		if (h->flags & ACK)
			tcp_drop(t, ECONNREFUSED);
		return;
	}
	if (!(h->flags & SYN))
		return;
	read_options(t, h);
	t->expected = t->read_at = be32(h->sequence) + 1;
	t->window = be16(h->window);
	t->window_at = be32(h->sequence);
	t->window_ack = ack;
	if (h->flags & ACK) {
		established(t);
		tcp_output(t, true);
	} else {	/* both opened at once */
		t->state = SYN_RECEIVED;
		tcp_segment(t, t->una, SYN | ACK, 0);
	}
}

static void measure(struct tcp *t)
{
	u64 rtt = now_ns() - t->timed_since;
	if (!t->srtt) {
		t->srtt = rtt;
		t->rttvar = rtt / 2;
	} else {
		u64 off = rtt > t->srtt ? rtt - t->srtt : t->srtt - rtt;
		t->rttvar = (3 * t->rttvar + off) / 4;
		t->srtt = (7 * t->srtt + rtt) / 8;
	}
	t->rto = MIN(MAX(t->srtt + 4 * t->rttvar, SECOND / 5), 4 * SECOND);
	t->timing = false;
}

static void retransmit_first(struct tcp *t)
{
	u32 next = t->next, size = MIN(t->send_size, (u32)t->mss);
	t->timing = false;
	if (size || t->fin_queued) {
		bool fin = t->fin_queued && size == t->send_size;
		tcp_segment(t, t->una, ACK | (fin ? FIN : 0), size);
	}
	t->next = next;
}

static void acknowledged(struct tcp *t, u32 ack)
{
	u32 n = ack - t->una, data = MIN(n, t->send_size);
	t->una = ack;
	t->send_size -= data;
	if (before(t->next, ack))
		t->next = ack;
	if (t->timing && !before(ack, t->timed))
		measure(t);
	t->retries = 0;
	if (t->recovering) {
		if (!before(ack, t->recover)) {
			t->recovering = false;
			t->cwnd = MAX(t->threshold, 4u * t->mss);
		} else
			retransmit_first(t);
		t->duplicates = 0;
	} else {
		t->duplicates = 0;
		t->cwnd += t->cwnd < t->threshold ? MIN(n, (u32)t->mss) : MAX((u32)t->mss * t->mss / t->cwnd, 1u);
		t->cwnd = MIN(t->cwnd, 1u << 20);
	}
	timer_cancel(&t->timer);
	if (t->next != t->una || t->send_size)
		timer_set(&t->timer, now_ns() + t->rto);
	tcp_wake(t);
}

/* An acknowledgment that says nothing new: something after the gap has arrived. */
static void duplicate(struct tcp *t)
{
	u32 flying = (t->highest - t->una + t->mss - 1) / t->mss;
	u32 enough = flying > 3 ? 3 : MAX(flying, 2u) - 1;
	t->duplicates++;
	if (t->recovering)
		t->cwnd += t->mss;
	else if (t->duplicates >= enough) {
		t->threshold = MAX(MIN(t->window, t->cwnd) / 2, 4u * t->mss);
		t->cwnd = t->threshold + 3 * t->mss;
		t->recover = t->highest;
		t->recovering = true;
		retransmit_first(t);
		timer_set(&t->timer, now_ns() + t->rto);
	}
}

/* The peer has all we had to say, the end too. */
static bool our_end_acknowledged(struct tcp *t) { return t->fin_queued && t->fin_sent && t->una == t->next && !t->send_size && t->una == t->highest; }

static void append(struct tcp *t, const u8 *data, u32 size)
{
	size = MIN(size, TCP_BUFFER - t->receive_size);
	for (u32 n = 0; n < size;) {
		u32 at = (t->expected + n) % TCP_BUFFER, part = MIN(size - n, TCP_BUFFER - at);
		memcpy(t->receive + at, data + n, part);
		n += part;
	}
	t->receive_size += size;
	t->expected += size;
}

static void end_received(struct tcp *t)
{
	if (t->fin_received)
		return;
	t->fin_received = true;
	t->expected++;
	if (t->state == ESTABLISHED)
		t->state = CLOSE_WAIT;
	else if (t->state == FIN_WAIT_1)
		t->state = CLOSING;
	else if (t->state == FIN_WAIT_2)
		tcp_wait(t);
}

static void keep_early(struct tcp *t, u32 sequence, const u8 *data, u32 size, bool fin)
{
	struct early *e;
	if (t->early_bytes + size > TCP_BUFFER || (!size && !fin))
		return;
	EACH(e, &t->early, link) {
		if (e->sequence == sequence && e->size >= size)
			return;
		if (after(e->sequence, sequence))
			break;
	}
	struct early *fresh = kmalloc(sizeof *fresh + size);
	if (!fresh)
		return;
	fresh->sequence = sequence;
	fresh->size = size;
	fresh->fin = fin;
	memcpy(fresh->data, data, size);
	t->early_bytes += size;
	link_insert(&e->link, &fresh->link);
}

static void use_early(struct tcp *t)
{
	while (!link_empty(&t->early)) {
		struct early *e = FIRST(&t->early, struct early, link);
		if (after(e->sequence, t->expected))
			break;
		u32 skip = t->expected - e->sequence;
		if (skip < e->size)
			append(t, e->data + skip, e->size - skip);
		if (e->fin && t->expected == e->sequence + e->size)
			end_received(t);
		link_remove(&e->link);
		t->early_bytes -= e->size;
		kfree(e);
	}
}

/* True if it has to be acknowledged. */
static bool data_received(struct tcp *t, u32 sequence, const u8 *data, u32 size, bool fin)
{
	if (!size && !fin)
		return false;
	if (before(sequence, t->expected)) {
		u32 skip = t->expected - sequence;
		if (skip > size || (skip == size && !fin))
			return true;	/* old */
		data += skip;
		size -= skip;
		sequence += skip;
	}
	if (t->fin_received)
		return true;
	u32 space = TCP_BUFFER - t->receive_size;
	if (sequence != t->expected) {
		if (sequence - t->expected + size <= space)
			keep_early(t, sequence, data, size, fin);
		return true;
	}
	u32 fits = MIN(size, space);
	append(t, data, fits);
	if (fin && fits == size)
		end_received(t);
	use_early(t);
	tcp_wake(t);
	return true;
}

static void connected_receive(struct tcp *t, const struct ip *ip, const struct tcp_header *h, const u8 *data, u32 size)
{
	u32 sequence = be32(h->sequence), ack = be32(h->ack), window = TCP_BUFFER - t->receive_size;
	if (h->flags & RST) {
		if (!before(sequence, t->expected) && sequence - t->expected <= window) {
			if (t->state == TIME_WAIT)
				tcp_over(t);
			else
				tcp_drop(t, ECONNRESET);
		}
		return;
	}
	if (h->flags & SYN) {
		tcp_output(t, true);	/* an old one: say where we are */
		return;
	}
	if (!(h->flags & ACK))
		return;
	if (t->state == SYN_RECEIVED) {
		if (ack != t->next) {
			tcp_reset_to(ip, h, size);
			return;
		}
		if (t->parent && t->parent->backlog_size >= t->parent->backlog_room)
			return;		/* it will be said again */
		established(t);
	}
	if (after(ack, t->highest)) {
		tcp_output(t, true);
		return;
	}
	bool was_closed = !t->window;
	if (after(ack, t->una))
		acknowledged(t, ack);
	else if (ack == t->una && t->highest != t->una && !size && !(h->flags & FIN) && be16(h->window) == t->window)
		duplicate(t);
	set_window(t, sequence, ack, h->window);
	if (was_closed && t->window)
		t->retries = 0;
	if (our_end_acknowledged(t)) {
		if (t->state == FIN_WAIT_1) {
			t->state = FIN_WAIT_2;
			timer_cancel(&t->timer);
			if (!t->socket)
				timer_set(&t->timer, now_ns() + 20 * SECOND);
		} else if (t->state == CLOSING)
			tcp_wait(t);
		else if (t->state == LAST_ACK) {
			t->state = CLOSED;
			if (!t->socket) {
				tcp_free(t);
				return;
			}
			tcp_wake(t);
			return;
		}
	}
	bool fin = h->flags & FIN;
	if (!t->socket && !t->parent && size && (t->state == FIN_WAIT_1 || t->state == FIN_WAIT_2)) {
		tcp_reset_to(ip, h, size);	/* nobody will ever read it */
		tcp_free(t);
		return;
	}
	bool answer = t->state == TIME_WAIT ? size || fin : data_received(t, sequence, data, size, fin);
	/* A probe of a closed window, or a keep-alive. */
	if (!size && !fin && sequence + 1 == t->expected)
		answer = true;
	tcp_output(t, answer);
}

void tcp_receive(const struct ip *ip, const u8 *payload, size_t n)
{
	const struct tcp_header *h = (const void *)payload;
	if (n < sizeof *h || (h->offset >> 4) * 4u < sizeof *h || (h->offset >> 4) * 4u > n)
		return;
	if (checksum(payload, n, pseudo_sum(ip->from, ip->to, IPPROTO_TCP, n)))
		return;
	u32 header = (h->offset >> 4) * 4, size = n - header, length = size + !!(h->flags & SYN) + !!(h->flags & FIN);
	struct tcp *t = find(ip, h);
	if (!t)
		tcp_reset_to(ip, h, length);
	else if (t->state == LISTEN)
		listen_receive(t, ip, h, length);
	else if (t->state == SYN_SENT)
		syn_sent_receive(t, ip, h, length);
	else if (t->state == TIME_WAIT && h->flags & SYN && !(h->flags & (ACK | RST)) && after(be32(h->sequence), t->expected)) {
		tcp_over(t);	/* the peer begins anew with the same ports */
		tcp_receive(ip, payload, n);
	} else
		connected_receive(t, ip, h, payload + header, size);
}

/* The neighbour does not answer. */
void tcp_unreachable(u32 to)
{
	struct tcp *t;
	EACH(t, &tcp_all, all)
		if (t->state == SYN_SENT && (t->remote == to || to == eth0.gateway)) {
			tcp_drop(t, EHOSTUNREACH);
			return;
		}
}
