"""Further steps of drawn programs, and which milestone's program goes through which."""

from __future__ import annotations

import random
from collections.abc import Callable

from drawn_steps import (
    ALL,
    Step,
    faults,
    killed,
    large,
    moved,
    queued,
    statuses,
    through_pipes,
    written_code,
)
from rootfs import word


def taking_turns(rng: random.Random, n: int) -> Step:
    """Threads that change a number one after another."""
    count, rounds = rng.randint(2, 6), rng.randint(3, 12)
    keys = [large(rng) for _ in range(count)]
    before = f"""
static pthread_mutex_t lock{n} = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed{n} = PTHREAD_COND_INITIALIZER;
static int turn{n};
static void *goes{n}(void *me)
{{
	static const u64 keys[] = {{{", ".join(f"{key}u" for key in keys)}}};
	for (int i = 0; i < {rounds}; i++) {{
		pthread_mutex_lock(&lock{n});
		while (turn{n} % {count} != (long)me) pthread_cond_wait(&changed{n}, &lock{n});
		x = x * keys[(long)me] + (long)me + i;
		turn{n}++;
		pthread_cond_broadcast(&changed{n});
		pthread_mutex_unlock(&lock{n});
	}}
	return (void *)keys[(long)me];
}}"""
    body = f"""
	pthread_t t[{count}];
	void *result;
	u64 last = 0;
	for (long i = 0; i < {count}; i++) WANT(pthread_create(&t[i], 0, goes{n}, (void *)i), 0);
	for (int i = 0; i < {count}; i++) {{
		WANT(pthread_join(t[i], &result), 0);
		last ^= (u64)result;
	}}
	x ^= last;"""

    def does(x: int) -> int:
        for i in range(rounds):
            for me, key in enumerate(keys):
                x = (x * key + me + i) & ALL
        for key in keys:
            x ^= key
        return x

    return Step(body, does, before)


def shared(rng: random.Random, n: int) -> Step:
    """Memory that children write and their parent reads; what is private stays private."""
    count, k, gap = rng.randint(2, 6), large(rng), rng.randrange(4096, 40000, 8)
    body = f"""
	u8 *p = mmap(0, {count * gap + 8}, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	HOLDS(p != MAP_FAILED);
	for (int i = 0; i < {count}; i++) {{
		pid_t child = fork();
		HOLDS(child >= 0);
		if (!child) {{
			x = x * {k}u + i;
			*(u64 *)(p + i * {gap}) = x;
			_exit(0);
		}}
		ended_well(child);
		x = x * 17 + *(u64 *)(p + i * {gap});
	}}
	munmap(p, {count * gap + 8});"""

    def does(x: int) -> int:
        for i in range(count):
            x = (x * 17 + x * k + i) & ALL
        return x

    return Step(body, does)


def in_a_file(rng: random.Random, n: int) -> Step:
    """Numbers in a file with holes, renamed, cut and read again."""
    one, two = f"/{word(rng)}", f"/{word(rng)}"
    near, far, k = rng.randrange(3000), rng.randrange(5000, 900_000), large(rng)
    cut = rng.randrange(far + 8, far + 5000)
    body = f"""
	u64 v = x * {k}u, w = 0, hole = 1;
	struct stat st;
	int fd = open("{one}", O_CREAT | O_EXCL | O_RDWR, 0600);
	HOLDS(fd >= 0);
	WANT(pwrite(fd, &x, 8, {near}), 8);
	WANT(pwrite(fd, &v, 8, {far}), 8);
	WANT(ftruncate(fd, {cut}), 0);
	close(fd);
	WANT(rename("{one}", "{two}"), 0);
	fd = open("{two}", O_RDONLY);
	HOLDS(fd >= 0);
	WANT(pread(fd, &w, 8, {far}), 8);
	WANT(pread(fd, &hole, 8, {near + 100}), 8);
	WANT(fstat(fd, &st), 0);
	close(fd);
	WANT(unlink("{two}"), 0);
	x = x * 7 + w + hole + (u64)st.st_size;"""
    return Step(body, lambda x: (x * 7 + x * k + cut) & ALL)


def first_of_many(rng: random.Random, n: int) -> Step:
    """A child writes to one of several pipes; poll or epoll says to which."""
    count, rounds = rng.randint(3, 9), rng.randint(3, 9)
    marks = [large(rng) for _ in range(count)]
    waits = (
        "WANT(poll(fds, COUNT, -1), 1);\n"
        "\t\tfor (int i = 0; i < COUNT; i++) if (fds[i].revents) at = i;",
        "WANT(epoll_wait(set, &got, 1, -1), 1);\n\t\tat = got.data.u32;",
    )
    body = f"""
	enum {{ COUNT = {count} }};
	static const u64 marks[] = {{{", ".join(f"{mark}u" for mark in marks)}}};
	int p[COUNT][2], set = epoll_create1(0), at = 0;
	struct pollfd fds[COUNT];
	struct epoll_event got;
	for (int i = 0; i < COUNT; i++) {{
		WANT(pipe(p[i]), 0);
		struct epoll_event event = {{.events = EPOLLIN, .data.u32 = i}};
		WANT(epoll_ctl(set, EPOLL_CTL_ADD, p[i][0], &event), 0);
		fds[i] = (struct pollfd){{p[i][0], POLLIN}};
	}}
	for (int r = 0; r < {rounds}; r++) {{
		u8 byte = 0;
		pid_t child = fork();
		HOLDS(child >= 0);
		if (!child) {{
			byte = x >> 50;
			_exit(write(p[(x >> 20) % COUNT][1], &byte, 1) != 1);
		}}
		{waits[rng.randrange(2)]}
		WANT(read(p[at][0], &byte, 1), 1);
		ended_well(child);
		x = x * marks[at] + byte;
	}}
	close(set);
	for (int i = 0; i < COUNT; i++) close(p[i][0]), close(p[i][1]);"""

    def does(x: int) -> int:
        for _ in range(rounds):
            x = (x * marks[(x >> 20) % count] + (x >> 50 & 255)) & ALL
        return x

    return Step(body, does)


def by_sockets(rng: random.Random, n: int) -> Step:
    """A child that is asked by a name without a file, and answers by a pipe that is handed over."""
    k, c, turns, name = large(rng), large(rng), rng.randint(2, 9), word(rng, 5)
    kind = rng.choice(("SOCK_STREAM", "SOCK_SEQPACKET"))
    body = f"""
	struct sockaddr_un at = {{.sun_family = AF_UNIX, .sun_path = "\\0{name}"}};
	int s = socket(AF_UNIX, {kind}, 0);
	WANT(bind(s, (void *)&at, 3 + {len(name)}), 0);
	WANT(listen(s, 3), 0);
	pid_t child = fork();
	HOLDS(child >= 0);
	if (!child) {{
		u64 v;
		int t = accept(s, 0, 0);
		for (int i = 0; i < {turns}; i++) {{
			if (recv(t, &v, 8, 0) != 8) _exit(1);
			v = v * {k}u + {c}u;
			if (send(t, &v, 8, 0) != 8) _exit(2);
		}}
		_exit(0);
	}}
	int t = socket(AF_UNIX, {kind}, 0);
	WANT(connect(t, (void *)&at, 3 + {len(name)}), 0);
	for (int i = 0; i < {turns}; i++) {{
		WANT(send(t, &x, 8, 0), 8);
		WANT(recv(t, &x, 8, 0), 8);
	}}
	ended_well(child);
	close(t), close(s);"""

    def does(x: int) -> int:
        for _ in range(turns):
            x = (x * k + c) & ALL
        return x

    return Step(body, does)


def placed(rng: random.Random, n: int) -> Step:
    """On the processor that was asked for."""
    where = [rng.randrange(2) for _ in range(rng.randint(4, 12))]
    body = f"""
	static const int where[] = {{{", ".join(map(str, where))}}};
	for (int i = 0; i < {len(where)}; i++) {{
		cpu_set_t set;
		unsigned cpu = 7;
		CPU_ZERO(&set); CPU_SET(where[i], &set);
		WANT(sched_setaffinity(0, sizeof set, &set), 0);
		WANT(syscall(SYS_getcpu, &cpu, 0, 0), 0);
		x = x * 5 + cpu;
	}}
	cpu_set_t both;
	CPU_ZERO(&both); CPU_SET(0, &both); CPU_SET(1, &both);
	WANT(sched_setaffinity(0, sizeof both, &both), 0);"""

    def does(x: int) -> int:
        for cpu in where:
            x = (x * 5 + cpu) & ALL
        return x

    return Step(body, does)


#: What a milestone's program goes through, beside arithmetic.
KINDS: dict[str, tuple[Callable[[random.Random, int], Step], ...]] = {
    "elf": (),
    "memory": (written_code, moved),
    "processes": (statuses,),
    "pipes": (statuses, through_pipes),
    "signals": (killed, queued, faults),
    "demand-paging": (shared, moved),
    "file-writes": (in_a_file, statuses),
    "threads": (taking_turns,),
    "polling": (first_of_many,),
    "unix-sockets": (by_sockets, in_a_file),
    "two-processors": (placed, taking_turns, through_pipes, shared),
}
