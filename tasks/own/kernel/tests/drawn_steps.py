"""What a drawn program goes through: each step in C, and what it makes of a number."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

ALL = (1 << 64) - 1


@dataclass(frozen=True)
class Step:
    """A function's body in C, which changes `x`, what stands before it, and the same in Python."""

    body: str
    does: Callable[[int], int]
    before: str = ""


def large(rng: random.Random) -> int:
    """An odd number of 64 bits."""
    return rng.getrandbits(64) | 1


def arithmetic(rng: random.Random, n: int) -> Step:
    """No kernel needed."""
    k, c, r, turns = large(rng), large(rng), rng.randint(7, 40), rng.randint(2, 9)

    def does(x: int) -> int:
        for _ in range(turns):
            x = (x * k + c) & ALL
            x ^= x >> r
        return x

    return Step(f"for (int i = 0; i < {turns}; i++) x = x * {k}u + {c}u, x ^= x >> {r};", does)


def written_code(rng: random.Random, n: int) -> Step:
    """Code that is written into a page and run: lea imm(%rdi), %rax; ret."""
    number, place = rng.getrandbits(31), rng.randrange(4000)
    added = ", ".join(str(byte) for byte in number.to_bytes(4, "little"))
    body = f"""
	u8 code[] = {{0x48, 0x8d, 0x87, {added}, 0xc3}};
	u8 *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	HOLDS(page != MAP_FAILED);
	memcpy(page + {place}, code, sizeof code);
	WANT(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
	x = ((u64 (*)(u64))(page + {place}))(x);
	munmap(page, 4096);"""
    return Step(body, lambda x: (x + number) & ALL)


def moved(rng: random.Random, n: int) -> Step:
    """Memory that grows elsewhere and keeps what it has, and has zeros where it is new."""
    pages, more, at, k = (
        rng.randint(3, 30),
        rng.randint(40, 90),
        rng.randrange(8, 8000, 8),
        large(rng),
    )
    body = f"""
	u8 *a = mmap(0, {pages} * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	HOLDS(a != MAP_FAILED);
	*(u64 *)(a + {at}) = x * {k}u;
	a = mremap(a, {pages} * 4096, {more} * 4096, MREMAP_MAYMOVE);
	HOLDS(a != MAP_FAILED);
	x ^= *(u64 *)(a + {at}) + *(u64 *)(a + {pages} * 4096 + {at});
	munmap(a, {more} * 4096);"""
    return Step(body, lambda x: x ^ (x * k & ALL))


def statuses(rng: random.Random, n: int) -> Step:
    """A chain of children, each of which ends with what it was told and what is its own."""
    k, c, depth = large(rng), rng.randrange(128), rng.randint(2, 6)
    before = f"""
static int chain{n}(int left, u64 v)
{{
	if (!left) return v >> 57;
	pid_t child = fork();
	HOLDS(child >= 0);
	if (!child) _exit(chain{n}(left - 1, v * {k}u + left));
	return ((ended(child) >> 8) + {c}) & 127;
}}"""

    def does(x: int) -> int:
        v = x
        for left in range(depth, 0, -1):
            v = (v * k + left) & ALL
        return (x * 31 + ((v >> 57) + c * depth) % 128) & ALL

    return Step(f"x = x * 31 + chain{n}({depth}, x);", does, before)


def killed(rng: random.Random, n: int) -> Step:
    """Children that a signal ends: by default, by its number."""
    numbers = rng.sample((1, 2, 3, 9, 13, 14, 15, 10, 12), 3)
    body = f"""
	static const int numbers[] = {{{", ".join(map(str, numbers))}}};
	for (int i = 0; i < 3; i++) {{
		pid_t child = fork();
		HOLDS(child >= 0);
		if (!child) for (;;) pause();
		kill(child, numbers[(x + i) % 3]);
		x = x * 131 + (ended(child) & 127);
	}}"""

    def does(x: int) -> int:
        for i in range(3):
            # In C the sum has 64 bits before the rest is taken.
            x = (x * 131 + numbers[(x + i & ALL) % 3]) & ALL
        return x

    return Step(body, does)


def through_pipes(rng: random.Random, n: int) -> Step:
    """A child at the other end of two pipes, which changes what it hands back."""
    k, c, turns = large(rng), large(rng), rng.randint(3, 20)
    body = f"""
	int a[2], b[2];
	WANT(pipe(a), 0); WANT(pipe(b), 0);
	pid_t child = fork();
	HOLDS(child >= 0);
	if (!child) {{
		u64 v;
		close(a[1]), close(b[0]);
		while (read(a[0], &v, 8) == 8) {{
			v = v * {k}u + {c}u;
			if (write(b[1], &v, 8) != 8) _exit(1);
		}}
		_exit(0);
	}}
	close(a[0]), close(b[1]);
	for (int i = 0; i < {turns}; i++) {{
		WANT(write(a[1], &x, 8), 8);
		WANT(read(b[0], &x, 8), 8);
	}}
	close(a[1]);
	ended_well(child);
	close(b[0]);"""

    def does(x: int) -> int:
        for _ in range(turns):
            x = (x * k + c) & ALL
        return x

    return Step(body, does)


def queued(rng: random.Random, n: int) -> Step:
    """Signals that wait: the lowest number first, and of one number in their order."""
    k = large(rng)
    sent = [(rng.randint(40, 60), rng.getrandbits(30)) for _ in range(rng.randint(4, 9))]
    before = f"""
static void took{n}(int number, siginfo_t *info, void *context)
{{
	x = x * {k}u + number * 1000003u + (u64)info->si_value.sival_int;
}}"""
    body = f"""
	static const int sent[][2] = {{{", ".join(f"{{{a}, {b}}}" for a, b in sent)}}};
	struct sigaction action = {{.sa_sigaction = took{n}, .sa_flags = SA_SIGINFO}};
	sigset_t all, old;
	sigfillset(&action.sa_mask), sigfillset(&all);
	for (int i = 40; i <= 60; i++) sigaction(i, &action, 0);
	sigprocmask(SIG_BLOCK, &all, &old);
	for (int i = 0; i < {len(sent)}; i++) {{
		union sigval value = {{.sival_int = sent[i][1]}};
		WANT(sigqueue(getpid(), sent[i][0], value), 0);
	}}
	sigprocmask(SIG_SETMASK, &old, 0);"""

    def does(x: int) -> int:
        for number, value in sorted(sent, key=lambda one: one[0]):
            x = (x * k + number * 1000003 + value) & ALL
        return x

    return Step(body, does, before)


def faults(rng: random.Random, n: int) -> Step:
    """A write to a page for reading: its address comes to the handler."""
    pages, k = rng.randint(1, 9), large(rng)
    before = f"""
static sigjmp_buf away{n};
static u8 *volatile where{n};
static void fault{n}(int number, siginfo_t *info, void *context)
{{
	where{n} = info->si_addr;
	siglongjmp(away{n}, 1);
}}"""
    body = f"""
	struct sigaction action = {{.sa_sigaction = fault{n}, .sa_flags = SA_SIGINFO}};
	sigaction(SIGSEGV, &action, 0);
	u8 *page = mmap(0, {pages} * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	HOLDS(page != MAP_FAILED);
	if (!sigsetjmp(away{n}, 1)) page[x % ({pages} * 4096)] = 1, where{n} = 0;
	x = x * {k}u + (u64)(where{n} - page);
	munmap(page, {pages} * 4096);
	signal(SIGSEGV, SIG_DFL);"""
    return Step(body, lambda x: (x * k + x % (pages * 4096)) & ALL, before)
