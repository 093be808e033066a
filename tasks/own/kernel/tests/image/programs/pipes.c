/* Pipes and descriptors. */
#include "exam.h"

static void simple(void)
{
	int a[2];
	char buffer[100];
	WANT(pipe(a), 0);
	HOLDS(a[1] == a[0] + 1);
	WANT(write(a[1], "hello", 5), 5);
	WANT(write(a[1], " you", 4), 4);
	WANT(read(a[0], buffer, 3), 3);
	WANT(read(a[0], buffer + 3, 97), 6);
	HOLDS(!memcmp(buffer, "hello you", 9));
	FAILS(write(a[0], "x", 1), EBADF);
	FAILS(read(a[1], buffer, 1), EBADF);
	FAILS(lseek(a[0], 0, SEEK_CUR), ESPIPE);
	FAILS(pread(a[0], buffer, 1, 0), ESPIPE);
	struct stat st;
	WANT(fstat(a[0], &st), 0);
	HOLDS(S_ISFIFO(st.st_mode));
	WANT(write(a[1], "rest", 4), 4);
	int waiting = 0;
	WANT(ioctl(a[0], FIONREAD, &waiting), 0);
	WANT(waiting, 4);
	close(a[1]);
	WANT(read(a[0], buffer, 100), 4);
	WANT(read(a[0], buffer, 100), 0);
	WANT(read(a[0], buffer, 100), 0);
	close(a[0]);
	FAILS(pipe((int *)8), EFAULT);
	FAILS(pipe2(a, 0x4711), EINVAL);
}

static void transfer(void)
{
	int a[2];
	static u8 buffer[40000];
	size_t total = between(2000000, 3000000), done = 0;
	u64 state = draw(), seen = state;
	WANT(pipe(a), 0);
	pid_t child = fork();
	if (!child) {
		close(a[0]);
		while (done < total) {
			size_t n = draw() % 30000 + 1;
			if (n > total - done)
				n = total - done;
			for (size_t i = 0; i < n; i++) {
				state = state * 6364136223846793005ul + 1442695040888963407ul;
				buffer[i] = state >> 56;
			}
			for (size_t put = 0; put < n;) {
				ssize_t m = write(a[1], buffer + put, n - put);
				HOLDS(m > 0);
				put += m;
			}
			done += n;
		}
		_exit(0);
	}
	close(a[1]);
	for (;;) {
		ssize_t n = read(a[0], buffer, draw() % sizeof buffer + 1);
		HOLDS(n >= 0);
		if (!n)
			break;
		for (ssize_t i = 0; i < n; i++) {
			seen = seen * 6364136223846793005ul + 1442695040888963407ul;
			if (buffer[i] != (u8)(seen >> 56)) fail("byte %lu is another", (unsigned long)done + i);
		}
		done += n;
	}
	WANT(done, total);
	close(a[0]);
	ended_well(child);
}

static void broken(void)
{
	int a[2];
	WANT(pipe(a), 0);
	close(a[0]);
	pid_t child = fork();
	if (!child) {
		(void)!write(a[1], "x", 1);
		_exit(5);
	}
	WANT(ended(child), SIGPIPE);
	signal(SIGPIPE, SIG_IGN);
	FAILS(write(a[1], "x", 1), EPIPE);
	child = fork();
	if (!child) {
		FAILS(write(a[1], "x", 1), EPIPE);
		_exit(0);
	}
	ended_well(child);
	signal(SIGPIPE, SIG_DFL);
	close(a[1]);
	/* A writer that sleeps learns that the last reader is gone. */
	WANT(pipe(a), 0);
	child = fork();
	if (!child) {
		static char much[200000];
		close(a[0]);
		for (;;)
			if (write(a[1], much, sizeof much) < 0)
				_exit(6);
	}
	close(a[1]);
	char some[10];
	WANT(read(a[0], some, 10), 10);
	close(a[0]);
	WANT(ended(child), SIGPIPE);
}

static void unblocked(void)
{
	int a[2];
	static char buffer[100000];
	WANT(pipe2(a, O_NONBLOCK), 0);
	HOLDS(fcntl(a[0], F_GETFL) & O_NONBLOCK);
	FAILS(read(a[0], buffer, 10), EAGAIN);
	WANT(write(a[1], buffer, sizeof buffer), 65536);
	FAILS(write(a[1], buffer, 1), EAGAIN);
	WANT(read(a[0], buffer, 4096), 4096);
	WANT(write(a[1], buffer, 4096), 4096);
	FAILS(write(a[1], buffer, 4096), EAGAIN);
	int flags = fcntl(a[0], F_GETFL);
	WANT(fcntl(a[0], F_SETFL, flags & ~O_NONBLOCK), 0);
	WANT(fcntl(a[0], F_GETFL) & O_NONBLOCK, 0);
	/* Each of them comes and goes without the others. */
	static const int each[] = {O_NONBLOCK, O_APPEND, O_NOATIME};
	for (int i = 0; i < 3; i++) {
		int all = O_NONBLOCK | O_APPEND | O_NOATIME;
		WANT(fcntl(a[0], F_SETFL, all), 0);
		WANT(fcntl(a[0], F_GETFL) & all, all);
		WANT(fcntl(a[0], F_SETFL, all & ~each[i]), 0);
		WANT(fcntl(a[0], F_GETFL) & all, all & ~each[i]);
		WANT(fcntl(a[0], F_SETFL, each[i]), 0);
		WANT(fcntl(a[0], F_GETFL) & all, each[i]);
	}
	close(a[1]);
	close(a[0]);
	WANT(pipe(a), 0);
	WANT(fcntl(a[1], F_SETFL, O_NONBLOCK), 0);
	size_t all = 0;
	ssize_t n;
	while ((n = write(a[1], buffer, 4096)) > 0)
		all += n;
	WANT(all, 65536);
	close(a[0]), close(a[1]);
}

/* What is written at once, up to 4,096 bytes, stays together. */
static void together(void)
{
	int a[2];
	WANT(pipe(a), 0);
	enum { WRITERS = 5, RECORDS = 60 };
	for (int w = 0; w < WRITERS; w++)
		if (!fork()) {
			static u32 record[1024];
			for (u32 r = 0; r < RECORDS; r++) {
				u32 words = 2 + (r * 37 + w * 101) % 1023;
				record[0] = w << 16 | words;
				for (u32 i = 1; i < words; i++)
					record[i] = w * 1000003 + r * 1009 + i;
				if (write(a[1], record, words * 4) != words * 4)
					_exit(1);
			}
			_exit(0);
		}
	close(a[1]);
	FILE *in = fdopen(a[0], "r");
	static u32 record[1024];
	u32 next[WRITERS] = {0}, head;
	int records = 0;
	while (fread(&head, 4, 1, in) == 1) {
		u32 w = head >> 16, words = head & 0xffff;
		HOLDS(w < WRITERS);
		u32 r = next[w]++;
		if (words != 2 + (r * 37 + w * 101) % 1023) fail("a record is broken up");
		WANT(fread(record + 1, 4, words - 1, in), words - 1);
		for (u32 i = 1; i < words; i++)
			if (record[i] != w * 1000003 + r * 1009 + i) fail("a record is broken up");
		records++;
	}
	WANT(records, WRITERS * RECORDS);
	fclose(in);
	for (int w = 0; w < WRITERS; w++) {
		int status;
		HOLDS(wait(&status) > 0);
		WANT(status, 0);
	}
}

static void copies(void)
{
	int a[2];
	char byte;
	WANT(pipe(a), 0);
	WANT(dup2(a[1], 20), 20);
	WANT(dup2(20, 20), 20);
	FAILS(dup2(77, 20), EBADF);
	FAILS(dup2(a[1], 1 << 24), EBADF);
	FAILS(dup3(20, 20, 0), EINVAL);
	WANT(dup3(20, 21, O_CLOEXEC), 21);
	WANT(fcntl(21, F_GETFD), FD_CLOEXEC);
	WANT(fcntl(20, F_GETFD), 0);
	WANT(fcntl(20, F_DUPFD, 30), 30);
	WANT(fcntl(20, F_DUPFD_CLOEXEC, 30), 31);
	WANT(fcntl(31, F_GETFD), FD_CLOEXEC);
	WANT(fcntl(31, F_SETFD, 0), 0);
	WANT(fcntl(31, F_GETFD), 0);
	int lowest = dup(20);
	HOLDS(lowest >= 0 && lowest < 20);
	close(a[1]), close(20), close(21), close(30), close(lowest);
	WANT(write(31, "x", 1), 1);
	WANT(read(a[0], &byte, 1), 1);
	close(31);
	WANT(read(a[0], &byte, 1), 0);
	close(a[0]);
}

/* A row of processes, each of which changes what it hands on. */
static void row(void)
{
	int in[2], out[2], first;
	u8 byte;
	WANT(pipe(in), 0);
	first = in[1];
	for (int i = 0; i < 6; i++) {
		WANT(pipe(out), 0);
		pid_t child = fork();
		if (!child) {
			close(first);
			close(out[0]);
			dup2(in[0], 0);
			dup2(out[1], 9);
			close(in[0]), close(out[1]);
			while (read(0, &byte, 1) == 1) {
				byte = byte * 5 + i;
				HOLDS(write(9, &byte, 1) == 1);
			}
			_exit(0);
		}
		close(in[0]), close(out[1]);
		in[0] = out[0];
	}
	u8 expected[50], got[50];
	for (int n = 0; n < 50; n++) {
		byte = expected[n] = draw();
		for (int i = 0; i < 6; i++)
			expected[n] = expected[n] * 5 + i;
		WANT(write(first, &byte, 1), 1);
	}
	close(first);
	for (size_t n = 0; n < 50;) {
		ssize_t m = read(in[0], got + n, 50 - n);
		HOLDS(m > 0);
		n += m;
	}
	HOLDS(!memcmp(got, expected, 50));
	WANT(read(in[0], &byte, 1), 0);
	close(in[0]);
	for (int i = 0; i < 6; i++) {
		int status;
		HOLDS(wait(&status) > 0);
		WANT(status, 0);
	}
}

/* A write that had begun when the last reader went ends with SIGPIPE all the same; where that is ignored it says
   how much it did. */
static void halved(void)
{
	for (int ignored = 0; ignored < 2; ignored++) {
		int a[2];
		static char much[300000];
		size_t some = between(1000, 60000);
		WANT(pipe(a), 0);
		pid_t writer = fork();
		if (!writer) {
			close(a[0]);
			signal(SIGPIPE, ignored ? SIG_IGN : SIG_DFL);
			ssize_t n = write(a[1], much, sizeof much);
			if (n < (ssize_t)some || n >= (ssize_t)sizeof much) _exit(1);	/* what was read is certain */
			if (!ignored) _exit(4);
			_exit(write(a[1], much, 1) == -1 && errno == EPIPE ? 2 : 3);
		}
		close(a[1]);
		rest_ms(50);
		for (size_t n = 0; n < some;) {
			ssize_t got = read(a[0], much, some - n);
			HOLDS(got > 0);
			n += got;
		}
		rest_ms(50);
		close(a[0]);
		WANT(ended(writer), ignored ? 2 << 8 : SIGPIPE);
	}
}

PARTS({"simple", simple}, {"transfer", transfer}, {"broken", broken}, {"unblocked", unblocked},
      {"together", together}, {"copies", copies}, {"row", row},
      {"halved", halved})
