/* UDP and TCP; the other side is the verifier's. */
#include "exam.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

static struct sockaddr_in at(const char *address, int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
	inet_pton(AF_INET, address, &a.sin_addr);
	return a;
}
#define AT(a) ((struct sockaddr *)&(a)), sizeof(a)
static u8 key(size_t i) { return salt[i % 32] ^ (u8)(i * 7 + (i >> 8)); }
static void say(const char *text) { (void)!write(1, text, strlen(text)); }

static void loopback(void)
{
	struct sockaddr_in here = at("127.0.0.1", 4000), from;
	char buffer[2000] = {0};
	socklen_t n = sizeof from;
	int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
	WANT(bind(a, AT(here)), 0);
	FAILS(bind(b, AT(here)), EADDRINUSE);
	WANT(connect(b, AT(here)), 0);
	WANT(send(b, "over lo", 7, 0), 7);
	WANT(recvfrom(a, buffer, 2000, 0, (void *)&from, &n), 7);
	HOLDS(from.sin_addr.s_addr == htonl(INADDR_LOOPBACK));
	WANT(sendto(a, buffer, 1400, 0, (void *)&from, n), 1400);
	WANT(recv(b, buffer, 2000, 0), 1400);
	FAILS(recv(b, buffer, 2000, MSG_DONTWAIT), EAGAIN);
	close(a);
	send(b, "x", 1, 0);
	struct pollfd p = {b, POLLIN};
	poll(&p, 1, 1000);
	FAILS(recv(b, buffer, 100, MSG_DONTWAIT), ECONNREFUSED);
	/* Of an error is told once, and also where the socket itself does not wait, or who polls. */
	FAILS(recv(b, buffer, 100, MSG_DONTWAIT), EAGAIN);
	WANT(fcntl(b, F_SETFL, O_NONBLOCK), 0);
	send(b, "x", 1, 0);
	p.revents = 0;
	WANT(poll(&p, 1, 1000), 1);
	HOLDS(p.revents & POLLERR);
	FAILS(read(b, buffer, 100), ECONNREFUSED);
	FAILS(read(b, buffer, 100), EAGAIN);
	close(b);
	int s = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0);
	here = at("127.0.0.1", 4001);
	FAILS(connect(c, AT(here)), ECONNREFUSED);
	close(c);
	int one = 1;
	WANT(setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), 0);
	WANT(bind(s, AT(here)), 0);
	WANT(listen(s, 5), 0);
	pid_t child = fork();
	if (!child) {
		c = socket(AF_INET, SOCK_STREAM, 0);
		WANT(connect(c, AT(here)), 0);
		WANT(write(c, "half", 4), 4);
		WANT(shutdown(c, SHUT_WR), 0);
		WANT(recv(c, buffer, 9, MSG_WAITALL), 9);
		HOLDS(!memcmp(buffer, "and back:", 9));
		_exit(0);
	}
	n = sizeof from;
	int t = accept(s, (void *)&from, &n);
	HOLDS(t >= 0);
	WANT(recv(t, buffer, 100, MSG_WAITALL), 4);
	WANT(read(t, buffer, 100), 0);
	WANT(write(t, "and back:", 9), 9);
	close(t);
	ended_well(child);
	/* What comes for somebody who has gone altogether is answered by a reset. */
	c = socket(AF_INET, SOCK_STREAM, 0);
	WANT(connect(c, AT(here)), 0);
	t = accept(s, 0, 0);
	HOLDS(t >= 0);
	WANT(close(c), 0);
	WANT(read(t, buffer, 100), 0);
	int why = 0;
	for (int i = 0; i < 300 && !why; i++)
		if (send(t, "x", 1, MSG_NOSIGNAL) == 1)
			rest_ms(10);
		else
			why = errno;
	HOLDS(why == EPIPE || why == ECONNRESET);
	close(t);
	close(s);
}

/* Whatever comes by UDP goes back, changed by the salt; an empty datagram ends it. */
static void echoes(void)
{
	struct sockaddr_in all = at("0.0.0.0", atoi(param("port"))), from;
	u8 buffer[2000];
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	WANT(bind(s, AT(all)), 0);
	say("<echoes>\n");
	for (;;) {
		socklen_t size = sizeof from;
		ssize_t n = recvfrom(s, buffer, sizeof buffer, 0, (void *)&from, &size);
		HOLDS(n >= 0);
		if (!n)
			break;
		for (ssize_t i = 0; i < n; i++)
			buffer[i] ^= key(i);
		WANT(sendto(s, buffer, n, 0, (void *)&from, size), n);
	}
	close(s);
}

/* A TCP server: each connection gets back what it sends, changed; `quit` as all of it ends. */
static void serves(void)
{
	struct sockaddr_in all = at("0.0.0.0", atoi(param("port")));
	int s = socket(AF_INET, SOCK_STREAM, 0), one = 1, open_ = 0;
	static struct pollfd fds[130];
	static struct { u8 data[16384]; size_t have, sent, seen; int over; } of[130];
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	WANT(bind(s, AT(all)), 0);
	WANT(listen(s, 100), 0);
	for (int i = 1; i < 130; i++)
		fds[i].fd = -1;
	fds[0] = (struct pollfd){s, POLLIN};
	say("<serves>\n");
	int most = 0, quit = 0;
	while (!quit || open_) {
		HOLDS(poll(fds, 130, -1) > 0);
		if (fds[0].revents & POLLIN) {
			int c = accept(s, 0, 0), i = 1;
			HOLDS(c >= 0);
			setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
			fcntl(c, F_SETFL, O_NONBLOCK);
			while (fds[i].fd >= 0) i++;
			fds[i] = (struct pollfd){c, POLLIN};
			memset(&of[i], 0, sizeof of[i]);
			if (++open_ > most) most = open_;
		}
		for (int i = 1; i < 130; i++) {
			if (fds[i].fd < 0 || !fds[i].revents)
				continue;
			if (fds[i].revents & (POLLIN | POLLHUP | POLLERR) && of[i].have < sizeof of[i].data && !of[i].over) {
				ssize_t n = read(fds[i].fd, of[i].data + of[i].have, sizeof of[i].data - of[i].have);
				if (n == 0) of[i].over = 1;
				if (n < 0 && errno != EAGAIN) of[i].over = 1, of[i].sent = of[i].have;
				if (n > 0 && !of[i].seen && n == 4 && !memcmp(of[i].data, "quit", 4)) quit = 1;
				for (ssize_t k = 0; k < n; k++, of[i].seen++)
					of[i].data[of[i].have++] ^= key(of[i].seen);
			}
			if (of[i].sent < of[i].have) {
				ssize_t n = send(fds[i].fd, of[i].data + of[i].sent, of[i].have - of[i].sent, MSG_NOSIGNAL);
				if (n > 0) of[i].sent += n;
				if (n < 0 && errno != EAGAIN) of[i].over = 1, of[i].sent = of[i].have;
			}
			if (of[i].sent == of[i].have) {
				of[i].sent = of[i].have = 0;
				if (of[i].over) close(fds[i].fd), fds[i].fd = -1, open_--;
			}
			fds[i].events = (of[i].have < sizeof of[i].data && !of[i].over ? POLLIN : 0) | (of[i].have > of[i].sent ? POLLOUT : 0);
		}
	}
	mix_text("%d", most);
	close(s);
}

/* A TCP client: asks for so many bytes, gets them and sends them back, changed. */
static void fetches(void)
{
	struct sockaddr_in there = at(param("peer"), atoi(param("port")));
	size_t size = atoi(param("size")), got = 0;
	static u8 all[3 << 20];
	say("<fetches>\n");
	int s = socket(AF_INET, SOCK_STREAM, 0);
	WANT(connect(s, AT(there)), 0);
	struct sockaddr_in me;
	socklen_t n = sizeof me;
	WANT(getpeername(s, (void *)&me, &n), 0);
	HOLDS(me.sin_port == there.sin_port);
	dprintf(s, "%lu\n", (unsigned long)size);
	while (got < size) {
		ssize_t m = read(s, all + got, size - got);
		HOLDS(m > 0);
		got += m;
	}
	mix(all, size);
	for (size_t i = 0; i < size; i++)
		all[i] ^= key(i);
	for (got = 0; got < size;) {
		ssize_t m = write(s, all + got, size - got);
		HOLDS(m > 0);
		got += m;
	}
	WANT(shutdown(s, SHUT_WR), 0);
	WANT(read(s, all, 10), 2);
	WANT(read(s, all + 2, 10), 0);
	HOLDS(!memcmp(all, "ok", 2));
	close(s);
}

/* Refused, and reset. */
static void refused(void)
{
	struct sockaddr_in there = at(param("peer"), atoi(param("closed")));
	char buffer[10];
	int s = socket(AF_INET, SOCK_STREAM, 0);
	FAILS(connect(s, AT(there)), ECONNREFUSED);
	close(s);
}

/* Who lets nothing linger resets: what was not read is lost, and the other side hears of it. */
static void lingering(void)
{
	struct sockaddr_in here = at("127.0.0.1", 4002);
	struct linger none = {1, 0};
	char buffer[100];
	int one = 1, s = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	WANT(bind(s, AT(here)), 0);
	WANT(listen(s, 5), 0);
	for (int waits = 0; waits < 2; waits++) {
		int c = socket(AF_INET, SOCK_STREAM, 0);
		WANT(connect(c, AT(here)), 0);
		int t = accept(s, 0, 0);
		HOLDS(t >= 0);
		FAILS(setsockopt(c, SOL_SOCKET, SO_LINGER, &none, 1), EINVAL);
		WANT(setsockopt(c, SOL_SOCKET, SO_LINGER, &none, sizeof none), 0);
		pid_t child = waits ? fork() : -1;
		if (!child) {
			rest_ms(60);
			_exit(0);
		}
		WANT(close(c), 0);
		if (!waits)
			rest_ms(60);
		FAILS(read(t, buffer, 100), ECONNRESET);
		WANT(read(t, buffer, 100), 0);
		FAILS(send(t, "x", 1, MSG_NOSIGNAL), EPIPE);
		if (waits)
			ended_well(child);
		close(t);
	}
	close(s);
}

PARTS({"loopback", loopback}, {"echoes", echoes}, {"serves", serves}, {"fetches", fetches}, {"refused", refused},
      {"lingering", lingering})
