/* Sockets on one machine. */
#define APART 1
#include "exam.h"
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

static struct sockaddr_un name_of(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	strcpy(a.sun_path, path);
	return a;
}
#define AT(a) ((struct sockaddr *)&(a)), sizeof(a)

static void pairs(void)
{
	int s[2];
	char buffer[100];
	WANT(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	WANT(write(s[0], "there", 5), 5);
	WANT(write(s[1], "back", 4), 4);
	WANT(read(s[1], buffer, 3), 3);
	WANT(recv(s[1], buffer + 3, 97, MSG_PEEK), 2);
	WANT(recv(s[1], buffer + 3, 97, 0), 2);
	HOLDS(!memcmp(buffer, "there", 5));
	WANT(recv(s[0], buffer, 100, 0), 4);
	FAILS(recv(s[0], buffer, 100, MSG_DONTWAIT), EAGAIN);
	WANT(shutdown(s[0], SHUT_WR), 0);
	WANT(read(s[1], buffer, 100), 0);
	WANT(write(s[1], "still", 5), 5);
	WANT(read(s[0], buffer, 100), 5);
	FAILS(send(s[0], "x", 1, MSG_NOSIGNAL), EPIPE);
	close(s[1]);
	WANT(read(s[0], buffer, 100), 0);
	close(s[0]);
	WANT(socketpair(AF_UNIX, SOCK_DGRAM, 0, s), 0);
	WANT(write(s[0], "one", 3), 3); WANT(write(s[0], "second", 6), 6);
	WANT(read(s[1], buffer, 2), 2);
	WANT(read(s[1], buffer, 100), 6);
	close(s[0]), close(s[1]);
	WANT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
	WANT(write(s[0], "one", 3), 3); WANT(write(s[0], "second", 6), 6);
	WANT(read(s[1], buffer, 100), 3);
	WANT(read(s[1], buffer, 100), 6);
	close(s[0]);
	WANT(read(s[1], buffer, 100), 0);
	close(s[1]);
}

static void serving(struct sockaddr_un at, socklen_t size)
{
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	u8 buffer[30000];
	HOLDS(server >= 0);
	WANT(bind(server, (void *)&at, size), 0);
	WANT(listen(server, 8), 0);
	int again = socket(AF_UNIX, SOCK_STREAM, 0);
	FAILS(bind(again, (void *)&at, size), EADDRINUSE);
	close(again);
	pid_t child[4];
	for (int c = 0; c < 4; c++) {
		child[c] = fork();
		if (child[c])
			continue;
		int s = socket(AF_UNIX, SOCK_STREAM, 0);
		WANT(connect(s, (void *)&at, size), 0);
		for (int i = 0; i < (int)sizeof buffer; i++)
			buffer[i] = i * (c + 3);
		for (int round = 0; round < 5; round++) {
			size_t sent = 0, got = 0;
			while (got < sizeof buffer) {
				struct pollfd p = {s, POLLIN | (sent < sizeof buffer ? POLLOUT : 0)};
				HOLDS(poll(&p, 1, 5000) == 1);
				if (p.revents & POLLOUT) {
					ssize_t n = send(s, buffer + sent, sizeof buffer - sent, MSG_DONTWAIT);
					if (n > 0) sent += n;
				}
				if (p.revents & POLLIN) {
					u8 back[4096];
					ssize_t n = recv(s, back, sizeof back, MSG_DONTWAIT);
					HOLDS(n > 0);
					for (ssize_t i = 0; i < n; i++)
						if (back[i] != (u8)~buffer[got + i]) fail("another byte came back");
					got += n;
				}
			}
		}
		_exit(0);
	}
	for (int done = 0; done < 4; done++) {
		struct sockaddr_un from;
		socklen_t n = sizeof from;
		int s = accept4(server, (void *)&from, &n, SOCK_CLOEXEC);
		HOLDS(s >= 0);
		struct ucred cred;
		n = sizeof cred;
		WANT(getsockopt(s, SOL_SOCKET, SO_PEERCRED, &cred, &n), 0);
		int known = 0;
		for (int c = 0; c < 4; c++)
			known += child[c] == cred.pid;
		HOLDS(known == 1 && cred.uid == 0);
		ssize_t got;
		while ((got = read(s, buffer, sizeof buffer)) > 0) {
			for (ssize_t i = 0; i < got; i++)
				buffer[i] = ~buffer[i];
			for (ssize_t put = 0; put < got;) {
				ssize_t m = write(s, buffer + put, got - put);
				HOLDS(m > 0);
				put += m;
			}
		}
		close(s);
	}
	for (int c = 0; c < 4; c++)
		ended_well(child[c]);
	close(server);
	int late = socket(AF_UNIX, SOCK_STREAM, 0);
	FAILS(connect(late, (void *)&at, size), ECONNREFUSED);
	close(late);
}
static void named(void)
{
	struct sockaddr_un at = name_of("/tmp/the socket"), got;
	struct stat st;
	serving(at, sizeof at);
	WANT(stat("/tmp/the socket", &st), 0);
	HOLDS(S_ISSOCK(st.st_mode));
	WANT(unlink("/tmp/the socket"), 0);
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	FAILS(connect(s, AT(at)), ENOENT);
	/* Each reason by its own name: a file on the way, a file that is no socket, a socket of somebody else's. */
	struct sockaddr_un beyond = name_of(arg[0]), plain = name_of(arg[0]), other = name_of("/tmp/of root");
	strcat(beyond.sun_path, "/x");
	FAILS(connect(s, AT(beyond)), ENOTDIR);
	FAILS(connect(s, AT(plain)), ECONNREFUSED);
	int server = socket(AF_UNIX, SOCK_STREAM, 0);
	WANT(bind(server, AT(other)), 0);
	WANT(listen(server, 1), 0);
	WANT(chmod(other.sun_path, 0600), 0);
	WANT(chmod("/tmp", 01777), 0);
	pid_t child = fork();
	if (!child) {
		WANT(setgid(1000), 0);
		WANT(setuid(1000), 0);
		FAILS(connect(s, AT(other)), EACCES);
		_exit(0);
	}
	ended_well(child);
	close(server);
	unlink(other.sun_path);
	int datagram = socket(AF_UNIX, SOCK_DGRAM, 0);
	FAILS(sendto(datagram, "x", 1, 0, AT(at)), ENOENT);
	FAILS(sendto(datagram, "x", 1, 0, AT(beyond)), ENOTDIR);
	close(datagram);
	socklen_t n = sizeof got;
	WANT(getsockname(s, (void *)&got, &n), 0);
	WANT(n, 2);
	close(s);
}
static void abstract(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	sprintf(at.sun_path + 1, "no file %lx", (long)draw());
	serving(at, offsetof(struct sockaddr_un, sun_path) + 1 + strlen(at.sun_path + 1));
}

static void handed(void)
{
	int s[2], a[2];
	WANT(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	WANT(pipe(a), 0);
	union { struct cmsghdr head; char space[CMSG_SPACE(2 * sizeof(int))]; } control;
	char byte = 'k';
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	memset(&control, 0, sizeof control);
	pid_t child = fork();
	if (!child) {
		close(a[0]), close(a[1]);
		WANT(recvmsg(s[1], &message, MSG_CMSG_CLOEXEC), 1);
		struct cmsghdr *c = CMSG_FIRSTHDR(&message);
		HOLDS(c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(2 * sizeof(int)));
		int got[2];
		memcpy(got, CMSG_DATA(c), sizeof got);
		WANT(fcntl(got[0], F_GETFD), FD_CLOEXEC);
		WANT(write(got[1], "handed", 6), 6);
		_exit(0);
	}
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(c), a, sizeof a);
	WANT(sendmsg(s[0], &message, 0), 1);
	close(a[1]);
	char text[20];
	WANT(read(a[0], text, 20), 6);
	ended_well(child);
	WANT(read(a[0], text, 20), 0);
	close(a[0]), close(s[0]), close(s[1]);
}

static void datagrams(void)
{
	struct sockaddr_un at = name_of("/tmp/datagrams"), mine = name_of("/tmp/mine"), from;
	char buffer[100];
	int server = socket(AF_UNIX, SOCK_DGRAM, 0), s = socket(AF_UNIX, SOCK_DGRAM, 0);
	WANT(bind(server, AT(at)), 0);
	WANT(bind(s, AT(mine)), 0);
	WANT(sendto(s, "question", 8, 0, AT(at)), 8);
	socklen_t n = sizeof from;
	WANT(recvfrom(server, buffer, 100, 0, (void *)&from, &n), 8);
	HOLDS(!strcmp(from.sun_path, "/tmp/mine"));
	WANT(sendto(server, "answer", 6, 0, (void *)&from, n), 6);
	WANT(recv(s, buffer, 100, 0), 6);
	close(server);
	FAILS(sendto(s, "x", 1, 0, AT(at)), ECONNREFUSED);
	close(s);
	unlink("/tmp/mine"), unlink("/tmp/datagrams");
}

/* The end of a peer is heard by whoever waits for it; lengths of messages that cannot be are refused. */
static void ends(void)
{
	static const int kinds[] = {SOCK_STREAM, SOCK_SEQPACKET};
	int s[2];
	char buffer[100];
	for (int k = 0; k < 2; k++)
		for (int polls = 0; polls < 2; polls++) {
			WANT(socketpair(AF_UNIX, kinds[k], 0, s), 0);
			pid_t child = fork();
			if (!child) {
				close(s[0]);
				rest_ms(60);
				_exit(0);
			}
			close(s[1]);
			struct pollfd p = {s[0], POLLIN | POLLRDHUP};
			if (polls) {
				WANT(poll(&p, 1, 10000), 1);
				HOLDS((p.revents & (POLLIN | POLLHUP | POLLRDHUP)) == (POLLIN | POLLHUP | POLLRDHUP));
			}
			WANT(read(s[0], buffer, 100), 0);
			FAILS(send(s[0], "x", 1, MSG_NOSIGNAL), EPIPE);
			ended_well(child);
			close(s[0]);
		}
	WANT(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	union { struct cmsghdr head; char space[CMSG_SPACE(sizeof(int))]; } control;
	struct iovec part = {buffer, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	size_t wrong[] = {0, 8, sizeof control + 1, (size_t)-1, (size_t)-8, (size_t)1 << 63};
	for (int i = 0; i < 6; i++) {
		memset(&control, 0, sizeof control);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = wrong[i];
		FAILS(sendmsg(s[0], &message, 0), EINVAL);
	}
	FAILS(recv(s[1], buffer, 100, MSG_DONTWAIT), EAGAIN);
	close(s[0]), close(s[1]);
}

PARTS({"pairs", pairs}, {"named", named}, {"abstract", abstract}, {"handed", handed}, {"datagrams", datagrams},
      {"ends", ends})
