"""exec: streams, statuses, timeouts, who and where."""

from __future__ import annotations

import asyncio
import time

from benchflow.testing.sandbox_conformance.catalogue import check
from benchflow.testing.sandbox_conformance.outcome import Failed, NotApplicable, expect, fail
from benchflow.testing.sandbox_conformance.rig import Rig, bystander, text

_MIB = 1 << 20


@check
async def exec__output_comes_back(rig: Rig) -> None:
    """What a command prints on either stream comes back whole"""
    result = await rig.run("printf 'one\\ntwo'; printf three >&2")
    expect("one\ntwo" in text(result) and "three" in text(result), f"got {text(result)!r}")


@check
async def exec__streams_apart(rig: Rig) -> None:
    """Standard output and standard error come back apart"""
    result = await rig.run("echo out; echo err >&2")
    if not result.stderr:
        raise NotApplicable("the environment merges both streams into stdout")
    expect((result.stdout, result.stderr) == ("out\n", "err\n"), f"got {result!r}")


@check
async def exec__exit_codes(rig: Rig) -> None:
    """Exit statuses 0, 1, 42 and 255 come back as they are"""
    for status in (0, 1, 42, 255):
        result = await rig.run(f"exit {status}")
        expect(result.return_code == status, f"exit {status} came back as {result.return_code}")


@check
async def exec__signals(rig: Rig) -> None:
    """A death by signal n is told from success: 128 + n"""
    for number in (9, 15, 11):
        result = await rig.run(f"kill -{number} $$")
        expect(
            result.return_code == 128 + number, f"signal {number} came back as {result.return_code}"
        )


@check
async def exec__not_found(rig: Rig) -> None:
    """A command that does not exist is 127, one that cannot be executed is 126"""
    result = await rig.run("no-such-command-at-all")
    expect(result.return_code == 127, f"a missing command gave {result.return_code}")
    result = await rig.run("/etc/passwd")
    expect(result.return_code == 126, f"a file without the x bit gave {result.return_code}")


@check
async def exec__stdin_is_empty(rig: Rig) -> None:
    """A command that reads standard input sees its end at once"""
    began = time.monotonic()
    result = await rig.run("cat; echo done", timeout_sec=20)
    expect("done" in text(result), f"got {text(result)!r}")
    expect(time.monotonic() - began < 15 * rig.patience, "it waited for input")


@check
async def exec__big_output(rig: Rig) -> None:
    """8 MiB on each stream at once come back, in full and without a deadlock"""
    result = await rig.run(
        "head -c 8388608 /dev/zero | tr '\\0' o & head -c 8388608 /dev/zero | tr '\\0' e >&2; wait",
        timeout_sec=120,
    )
    whole = text(result)
    expect(whole.count("o") == 8 * _MIB, f"{whole.count('o')} bytes of stdout of {8 * _MIB}")
    expect(whole.count("e") == 8 * _MIB, f"{whole.count('e')} bytes of stderr of {8 * _MIB}")


@check
async def exec__binary_output(rig: Rig) -> None:
    """Bytes that are no UTF-8 do not break a command's result"""
    result = await rig.run("printf 'a\\377\\376\\000b'; exit 3")
    expect(result.return_code == 3, f"status {result.return_code}")
    expect(text(result).startswith("a") and text(result).endswith("b"), f"got {text(result)!r}")


@check
async def exec__unicode(rig: Rig) -> None:
    """Characters of several bytes go in and come out unchanged"""
    words = "žluťoučký 馬 🐎"
    expect((await rig.out(f"printf %s '{words}'")) == words, "they were changed")


@check
async def exec__long_command(rig: Rig) -> None:
    """A command line of 64 KiB runs"""
    expect(await rig.out(f"printf %s {'x' * 65536} | wc -c") == "65536\n", "it was cut")


@check
async def exec__timeout_is_kept(rig: Rig) -> None:
    """A command that runs too long is stopped near its timeout, and not taken for a success"""
    began = time.monotonic()
    result = await rig.run_out("echo before; sleep 60", 1)
    expect(result is None or result.return_code != 0, "a timed-out command came back with 0")
    expect(
        time.monotonic() - began < 20 * rig.patience, f"it took {time.monotonic() - began:.0f} s"
    )


@check
async def exec__timeout_kills_the_tree(rig: Rig) -> None:
    """A timeout kills everything that the command started: setsid, double forks, deaf ones"""
    marker = f"31{rig.token}"
    command = (
        f"perl -e 'sleep 900' child-{marker} & "
        f"setsid perl -e 'sleep 900' session-{marker} & "
        f"(setsid sh -c \"perl -e 'sleep 900' double-{marker} &\" &) ; "
        f"perl -e '$SIG{{TERM}}=$SIG{{HUP}}=$SIG{{INT}}=q(IGNORE); sleep 900' deaf-{marker}"
    )
    await rig.run_out(command, int(2 * rig.patience))
    if not await rig.is_gone(marker):
        left = await rig.processes(marker)
        await rig.run(f"pkill -9 -f {marker}")
        fail(f"{len(left)} processes outlived the timeout")


@check
async def exec__cancel_kills(rig: Rig) -> None:
    """When the caller gives up (a trial's own time limit), the command is killed"""
    marker = f"32{rig.token}"
    task = asyncio.ensure_future(rig.run(f"perl -e 'sleep 900' {marker}"))
    for _ in range(100):
        if await rig.processes(marker):
            break
        await asyncio.sleep(0.05)
    expect(await rig.processes(marker), "the command did not start")
    task.cancel()
    await asyncio.wait([task], timeout=30 * rig.patience)
    if not await rig.is_gone(marker):
        await rig.run(f"pkill -9 -f {marker}")
        fail("the command ran on")


@check
async def exec__daemon_survives(rig: Rig) -> None:
    """A daemon that a command leaves behind lives on, and does not hold the command up"""
    began = time.monotonic()
    seconds = int(45 * rig.patience)
    await rig.out(f"setsid sleep {seconds} & echo $! > /srv/c/daemon.pid", timeout_sec=seconds - 5)
    expect(time.monotonic() - began < seconds - 15, "exec waited for the daemon")
    expect(
        (await rig.run("kill -0 $(cat /srv/c/daemon.pid)")).return_code == 0,
        "the daemon is dead",
    )
    await rig.run("kill $(cat /srv/c/daemon.pid)")


@check
async def exec__concurrent(rig: Rig) -> None:
    """Eight commands at once run side by side and keep their outputs apart"""
    began = time.monotonic()
    nap = rig.patience
    results = await asyncio.gather(
        *(rig.out(f"sleep {nap}; echo number-{n}", timeout_sec=int(60 * nap)) for n in range(8))
    )
    expect([r.strip() for r in results] == [f"number-{n}" for n in range(8)], f"got {results}")
    expect(time.monotonic() - began < 7.5 * rig.patience, "they ran one after the other")


@check
async def exec__output_streams_live(rig: Rig) -> None:
    """Output reaches a scoped callback while the command still runs"""
    environment = await rig.env()
    seen: list[tuple[float, str]] = []

    async def callback(chunk: str, _stream: str) -> None:
        seen.append((time.monotonic(), chunk))

    with environment.scoped_output_callback(callback):
        await environment.exec(f"echo first; sleep {1.5 * rig.patience}; echo last")
    ended = time.monotonic()
    if not seen:
        raise NotApplicable("the environment does not stream")
    expect(ended - seen[0][0] > 1.0, "the first line came only at the end")
    expect("".join(chunk for _, chunk in seen) == "first\nlast\n", f"got {seen}")


@check
async def exec__environment_variables(rig: Rig) -> None:
    """Variables arrive unchanged: quotes, spaces, newlines, equal signs, empty"""
    values = {"A": "x=y z", "B": 'it\'s "so"', "C": "two\nlines", "D": "", "E": "$HOME `id` \\"}
    shown = await rig.out('printf \'%s|\' "$A" "$B" "$C" "$D" "$E"', env=values)
    expect(shown == "".join(f"{value}|" for value in values.values()), f"got {shown!r}")


@check
async def exec__image_environment(rig: Rig) -> None:
    """What the image's ENV and WORKDIR say is in force"""
    expect(await rig.out("echo $CONFORMANCE_IMAGE; pwd") == "yes\n/work\n", "they are not")


@check
async def exec__host_environment_stays_out(rig: Rig) -> None:
    """No variable of the orchestrator's is visible inside"""
    shown = await rig.out("env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; true")
    expect(rig.secret not in shown, "the orchestrator's environment can be read")


@check
async def exec__working_directory(rig: Rig) -> None:
    """`cwd` is where the command starts"""
    expect(await rig.out("pwd", cwd="/usr/share") == "/usr/share\n", "it is not")


@check
async def exec__users(rig: Rig) -> None:
    """Root by default; `user` by name and by number"""
    expect(await rig.out("id -u") == "0\n", "the default is not root")
    expect(await rig.out("id -un", user="nobody") == "nobody\n", "not by name")
    expect(await rig.out("id -u", user=65534) == "65534\n", "not by number")
    environment = await rig.env()
    with environment.with_default_user("nobody"):
        expect(await rig.out("id -un") == "nobody\n", "the default user is not followed")


@check
async def exec__set_uid_works(rig: Rig) -> None:
    """Set-uid programs work inside, as sudo and su need"""
    await rig.out("cp /usr/bin/id /var/root-id && chmod 4755 /var/root-id")
    shown = await rig.out("/var/root-id -u", user="nobody")
    await rig.run("rm -f /var/root-id")
    expect(shown == "0\n", f"a set-uid root program ran as {shown.strip()}")


@check
async def exec__other_processes_are_left_alone(rig: Rig) -> None:
    """Stopping a command's tree stops nothing else on the machine"""
    other = bystander()
    try:
        await rig.run_out("sleep 60", 1)
        if other.poll() is not None:
            raise Failed("a process of the host died")
    finally:
        other.kill()
        other.wait()
