"""What it takes, what it bears, and that nothing is lost in a night."""

from __future__ import annotations

import contextlib
import json
import random
import re
import socket
import threading
import time

import programs
import serving
from asked_server import asked_server
from bench import HOST, Station, cpio, switch_off
from programs import Program
from talker import Line, chunked, request

from benchflow.bench.source_builder import BENCH

MOST_INSTRUCTIONS = 60_000_000
MOST_IDLE_KIB = 24 << 10
MOST_GROWTH = 4 << 20


COUNTED = """\
#!/bin/sh
runs() {{ su -s /bin/sh nobody -c "for n in 1 2 3 4 5 6 7 8; do $1 > /dev/null || exit 1; done" < /dev/null > /dev/null 2>&1; }}
su -s /bin/sh nobody -c "/bin/skarn /hello.mjs" < /dev/null > /tmp/said 2> /dev/null
runs "/bin/busybox true"
echo "{word}-one"; read -r go
runs "/bin/busybox true"
echo "{word}-two"; read -r go
runs "/bin/skarn /hello.mjs"
echo "{word}-three $? $(head -c 100 /tmp/said)"; read -r go
"""  # noqa: E501


def starts_quickly(station: Station) -> int:
    """[R24] Instructions of one start, what any process costs there taken out.

    What runs is a user's that can neither read the words nor write to the console.
    """
    word, hello = (station.rng.randbytes(8).hex() for _ in range(2))
    station.drop()
    initrd = station.work / "counted.cpio"
    script = COUNTED.format(word=word).encode()
    data = station.initrd.read_bytes()
    files = {
        "counted.sh": (script, 0o700),
        "hello.mjs": (f"console.log('{hello}');\n".encode(), 0o644),
    }
    initrd.write_bytes(data + bytes(-len(data) % 512) + cpio(files))
    machine = station.machines.create(
        "counted",
        kernel=BENCH / "vmlinuz",
        initrd=initrd,
        append="console=ttyS0 quiet panic=-1 mitigations=off",
        cpus=1,
    )
    machine.count_instructions()
    try:
        machine.boot()
        counts = []
        for mark in ("one", "two", r"three (\d+) (\w+)"):
            said = machine.expect(rf"{word}-{mark}\r?\n", 600)
            counts.append(machine.instructions())
            machine.send("\n")
    finally:
        switch_off(machine)
    assert said[1] == "0" and said[2] == hello, (
        f"[R24] hello.mjs says {said[2]!r}, status {said[1]}"
    )
    took = max(0, (counts[2] - counts[1]) - (counts[1] - counts[0])) // 8
    assert took <= MOST_INSTRUCTIONS, (
        f"[R24] `skarn hello.mjs` takes {took} instructions, more than {MOST_INSTRUCTIONS}"
    )
    return took


def resident(guest, pid_file: str) -> dict[str, int]:
    """Of a process its memory, descriptors and threads; of the machine its zombies."""
    said = guest.ok(
        f"p=$(cat {pid_file}); [ $(readlink /proc/$p/exe) = /bin/skarn ] || exit 1;"
        " grep -e VmRSS -e Threads /proc/$p/status; echo fds $(ls "
        "/proc/$p/fd | wc -l);"
        " echo zombies $(cat /proc/[0-9]*/stat 2> /dev/null | sed 's/.*) //' | grep -c ^Z)",
        "the server",
    )
    found = {
        name: re.search(rf"{name}:?\s+(\d+)", said)
        for name in ("VmRSS", "Threads", "fds", "zombies")
    }
    assert all(found.values()), f"the server is not there: {said[:200]!r}"
    return {name: int(match[1]) for name, match in found.items()}


def idles_small(guest, program: Program) -> int:
    """[R24] A server that has answered 500 requests."""
    with serving.by_guest(guest, program) as port:
        for _ in range(10):
            with Line(port, why="[R24]") as line:
                for n in range(50):
                    got = line.send(request("POST", f"/echo?{n}", {}, b"x" * 2000)).answer()
                    assert got.status == 200, f"[R24] /echo is answered with {got.status}"
        time.sleep(2)
        held = resident(guest, f"/tmp/work/{program.name}/.pid")["VmRSS"]
    assert held <= MOST_IDLE_KIB, (
        f"[R24] the idle server holds {held} KiB, more than {MOST_IDLE_KIB}"
    )
    return held


def small_programs(kind: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Programs of `limits.txt`, and what each may print."""
    found = {}
    for part in (programs.TEXTS / "limits.txt").read_text().split("\n\n"):
        head, text, *says = part.strip().splitlines()
        if head.startswith(f"{kind} "):
            may = tuple(line.removeprefix("->").strip().replace("\\n", "\n") for line in says)
            found[head.removeprefix(f"{kind} ")] = text, may
    return found


def keeps_its_limits(guest, rng: random.Random) -> None:
    """[R25] `--memory`: an error, and no signal."""
    beyond = small_programs("limit")
    for name in rng.sample(list(beyond), 3):
        megabytes = rng.randrange(24, 60)
        done = guest.run(
            f"skarn --memory {megabytes} -e {quoted(beyond[name][0])} > /tmp/out 2>&1 < "
            "/dev/null; echo =$?"
        )
        status = int(done.stdout.rpartition("=")[2])
        assert status == 1, (
            f"[R25] beyond --memory {megabytes} ({name}) it ends with {status}, not 1"
        )
    word = rng.randbytes(5).hex()
    text = (
        f"let kept = '{word}'; try "
        f"{{ const a = []; for (;;) a.push(new Uint8Array(1 << 16)); }} catch (e) "
        f"{{ kept += ' caught'; }}"
        " setTimeout(() => console.log(kept), 20);"
    )
    said = guest.ok(f"skarn --memory 40 -e {quoted(text)}", "[R25] an error that is caught").strip()
    assert said == f"{word} caught", f"[R25] beyond --memory an error can be caught: {said[:100]!r}"
    fits = (
        "const a = []; for (let n = 0; n < 20; n++) a.push(Buffer.alloc(1 << 20, n));"
        f" console.log(a.length, '{word}');"
    )
    said = guest.ok(
        f"skarn --memory 48 -e {quoted(fits)}", "[R25] 20 MiB within --memory 48"
    ).strip()
    assert said == f"20 {word}", f"[R25] 20 MiB within --memory 48: {said[:100]!r}"


def bears_depth(guest, rng: random.Random) -> None:
    """[R25] Whatever a program does, it ends by no signal."""
    for name, (text, may) in small_programs("deep").items():
        done = guest.run(f"skarn -e {quoted(text)} 2> /tmp/err < /dev/null; echo =$?", 90)
        said, _, status = done.stdout.rpartition("=")
        assert int(status) == 0, (
            f"[R25] {name}: it ends with {status.strip()}: {guest.read('/tmp/err', 300)!r}"
        )
        assert said.strip() in may, f"[R25] {name}: it prints {said[:200]!r}, not {may}"
    word = rng.randbytes(5).hex()
    chain = {
        f"m{n}.mjs": f"import {{ v as w }} from './m{n + 1}.mjs'; export const v = w + 1;\n"
        for n in range(1000)
    }
    chain |= {f"c{n}.cjs": f"exports.v = require('./c{n + 1}.cjs').v + 1;\n" for n in range(1000)}
    chain |= {"m1000.mjs": "export const v = 0;\n", "c1000.cjs": "exports.v = 0;\n"}
    chain["main.mjs"] = (
        f"import {{ v }} from './m0.mjs'; import c from './c0.cjs'; console.log(v, c.v, "
        f"'{word}');\n"
    )
    guest.give("/tmp/work/chain", {path: text.encode() for path, text in chain.items()})
    said = guest.ok(
        "cd /tmp/work/chain; skarn main.mjs 2>&1 | tail -c 300", "[R25] chains of modules", 90
    ).strip()
    assert said == f"1000 1000 {word}", f"[R25] chains of 1,000 modules: {said!r}"


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# -- a night -----------------------------------------------------------------------------------


def night(station: Station, seconds: float = 60) -> dict[str, int]:
    """[R26] Everything at once, for a while; afterwards as much is open and held as before."""
    rng = station.rng
    program = programs.draw(rng, "night", "app")
    with asked_server() as asked, station.own([]) as guest:
        place = f"/tmp/work/{program.name}"
        program = programs.Program(
            program.name, program.files, (*program.arguments, f"http://{HOST}:{asked.port}")
        )
        with serving.by_guest(guest, program) as port:
            work(port, rng, seconds / 10)
            settle(port)
            first = resident(guest, f"{place}/.pid")
            before = work(port, rng, seconds)
            settle(port)
            last = resident(guest, f"{place}/.pid")
        grown = (last["VmRSS"] - first["VmRSS"]) << 10
        for what in ("fds", "Threads", "zombies"):
            assert last[what] <= first[what], (
                f"[R26] {what}: {first[what]} before, {last[what]} after"
            )
        assert last["zombies"] == 0, f"[R26] {last['zombies']} zombies"
        assert grown <= MOST_GROWTH, f"[R26] the server has grown by {grown} bytes"
    return {"requests": before, "growth": grown}


def settle(port: int) -> None:
    """Until nothing of what was begun is left."""
    for _ in range(120):
        with Line(port, why="[R26]") as line:
            answer = line.send(request("GET", "/open", {"Connection": "close"})).answer()
        try:
            left = json.loads(answer.body)["open"]
        except (ValueError, KeyError, TypeError):
            raise AssertionError(f"[R26] /open: {answer.body[:200]!r}") from None
        if left == 0:
            break
        time.sleep(0.5)
    else:
        raise AssertionError(f"[R26] {left} things are still at work a minute later")
    time.sleep(6)


def work(port: int, rng: random.Random, seconds: float) -> int:
    """Clients of all kinds from a few threads; how many requests were answered."""
    end = time.monotonic() + seconds
    faults: list[str] = []
    done = [0]
    lock = threading.Lock()

    def client(seed: int) -> None:
        mine = random.Random(seed)
        try:
            while time.monotonic() < end and not faults:
                count = one(port, mine)
                with lock:
                    done[0] += count
        except AssertionError as error:
            faults.append(str(error))

    threads = [
        threading.Thread(target=client, args=(rng.getrandbits(60),), daemon=True) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 180)
    assert not faults, f"[R26] {faults[0]}"
    return done[0]


def one(port: int, rng: random.Random) -> int:
    """One connection, of a drawn kind."""
    kind = rng.random()
    with Line(port, why="[R26]") as line:
        if kind < 0.6:
            count = rng.randrange(1, 12)
            for _ in range(count):
                path = rng.choice(
                    (
                        "/plain",
                        "/echo",
                        "/echo",
                        "/child",
                        "/file",
                        "/worker",
                        "/fetch",
                        "/abort",
                        "/timer",
                        "/error",
                    )
                )
                if path == "/echo":
                    sent = rng.randbytes(rng.randrange(30_000))
                    if rng.random() < 0.5:
                        line.send(request("POST", path, {}, sent))
                    else:
                        line.send(
                            request("POST", path, {"Transfer-Encoding": "chunked"})
                            + chunked([sent[:99], sent[99:]])
                        )
                    got = line.answer()
                    assert got.body == sent, (
                        f"/echo: {len(sent)} bytes came back as {len(got.body)}"
                    )
                else:
                    word = rng.randbytes(4).hex()
                    got = line.send(request("GET", f"{path}?{word}")).answer()
                    wanted = 500 if path == "/error" else 200
                    assert got.status == wanted and got.body == f"{path} {word}".encode(), (
                        f"{path}?{word}: {got.status} {got.body[:200]!r}"
                    )
            return count
        if kind < 0.75:
            line.offer(
                request("POST", "/echo", {"Content-Length": "100000"})
                + b"x" * rng.randrange(50_000)
            )
        elif kind < 0.9:
            line.offer(request("GET", "/large"))
            line.socket.settimeout(2)
            with contextlib.suppress(OSError):
                line.socket.recv(1000)
        else:
            line.offer(rng.choice((b"GET / HT", b"nonsense\r\n\r\n", b"", request("GET", "/slow"))))
        line.socket.setsockopt(
            socket.SOL_SOCKET,
            socket.SO_LINGER,
            b"\1\0\0\0\0\0\0\0" if rng.random() < 0.5 else b"\0\0\0\0\0\0\0\0",
        )
    return 0
