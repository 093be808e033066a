"""A cabinet on the bench: started, asked on its console and through its ports."""

from __future__ import annotations

import json
import secrets
import time
from pathlib import Path

from programs import PORT

from benchflow.bench.guest import GuestWithTries
from benchflow.bench.slot_bundles import DeliveredSlots
from benchflow.boot import (
    CheckMisuse,
    Disk,
    GuestError,
    Machine,
    Nic,
)
from benchflow.boot.inspect.bounded_run import run_tool

PASSWORD = "Quay-Ladder-4"
#: Declared or not: what the verifier may try from outside.
PORTS = (22, 80, 2375, PORT, 8001, 8002, 8003, 8004, 8005, 8006, 8009, 9000)
STATES = ("running", "waiting", "exited", "failed", "refused")
HOST = ("version", "slot", "state", "other", "other_version", "carrier")
CONTAINER = ("state", "reason", "restarts", "oom_kills", "exit", "image")
LONGEST = 4 << 20


def on_bench(machines, name: str, disk: Path, carrier: Path | None) -> Machine:
    """The carrier could be written on, and the network leads out: a host has to see to both."""
    disks = [Disk(disk), *([Disk(carrier)] if carrier else [])]
    return machines.create(name, disks=disks, nics=[Nic(forwards=list(PORTS), restrict=False)])


class Host(GuestWithTries):
    """`machine`, and what is asked of it."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine, PASSWORD)

    # -- life ---------------------------------------------------------------------------------

    def up(self, seconds: float = 120) -> None:
        """See to it that somebody is logged in, whatever an earlier check has come to."""
        try:
            self.say("true", 10)
        except (GuestError, CheckMisuse):
            if self.machine.alive:
                self.machine.power_cut()
            self.start(seconds)

    # -- on the console -----------------------------------------------------------------------

    def status(self) -> tuple[dict, dict]:
        """What `hostctl status` says of the host and of the containers. [R7]

        Asked again where a service's word to the console may have come between.
        """
        for again in (True, True, False):
            text = self.say("hostctl status")
            try:
                whole = json.loads(text)
                break
            except (ValueError, RecursionError):
                assert again, f"hostctl status is not JSON [R7]: {text[:500]!r}"
                time.sleep(1)
        assert isinstance(whole, dict), text[:300]
        host, containers = whole.get("host"), whole.get("containers")
        assert isinstance(host, dict) and isinstance(containers, dict), text[:300]
        assert all(key in host for key in HOST), f"keys of [R7] are missing: {host}"
        for name, one in containers.items():
            assert isinstance(one, dict), f"{name}: {one!r}"
            assert all(key in one for key in CONTAINER), f"keys of [R7] are missing: {name}: {one}"
            assert one["state"] in STATES, f"{name} is {one['state']!r}: no state of [R7]"
        # There may be more keys, and what they say may change.
        return {key: host[key] for key in HOST}, {
            name: {key: one[key] for key in CONTAINER} for name, one in containers.items()
        }

    def container(self, name: str) -> dict:
        containers = self.status()[1]
        assert name in containers, f"the status does not name {name} [R7]"
        return containers[name]

    def comes_to(self, name: str, seconds: float = 60, **wanted: object) -> dict:
        """The status of a container as soon as it is as wanted."""
        deadline = self.machine.deadline(seconds)
        while True:
            one = self.container(name)
            if all(one[key] == value for key, value in wanted.items()):
                return one
            assert deadline.remaining() > 0, f"{name} should come to {wanted} and is {one} [R7]"
            time.sleep(0.5)

    def settled(self, names, seconds: float = 120) -> None:
        """Wait until each of these containers runs."""
        deadline = self.machine.deadline(seconds)
        while True:
            containers = self.status()[1]
            wrong = {n: containers.get(n) for n in names
                     if (containers.get(n) or {}).get("state") != "running"}  # fmt: skip
            if not wrong:
                return
            assert deadline.remaining() > 0, f"these should run [R8]: {wrong}"
            time.sleep(2)

    def logs(self, name: str, seconds: float = 60) -> str:
        return self.say(f"hostctl logs {name}", seconds)

    # -- through its ports --------------------------------------------------------------------

    def _post(self, port: int, script: str, seconds: float) -> str | None:
        """What the container behind `port` answers to a script; None when there is no answer."""
        address, number = self.machine.forward(port)
        one, two = secrets.randbelow(1 << 40), secrets.randbelow(1 << 40)
        body = f"{script}\necho\necho $(({one}+{two}))\n"
        real = max(1, int(seconds / min(1.0, self.machine.host.speed)))
        done = run_tool(
            ["curl", "-s", "-m", str(real), "--max-filesize", str(LONGEST), "--data-binary", "@-",
             f"http://{address}:{number}/cgi-bin/ask"],
            stdin=body.encode(), limit=LONGEST,
        )  # fmt: skip
        text = done.stdout.decode("utf-8", "replace")
        head, _, last = text.rstrip("\n").rpartition("\n")
        return head.removesuffix("\n") if done.status == 0 and last == str(one + two) else None

    def ask(self, port: int, script: str, seconds: float = 60, every: float = 20) -> str:
        """Have the container behind `port` run a script that may run twice; what it printed."""
        deadline = self.machine.deadline(seconds)
        while (said := self._post(port, script, every)) is None:
            assert deadline.remaining() > 0, f"port {port} of the host gives no answer [R17]"
            time.sleep(0.5)
        return said

    def ask_once(self, port: int, script: str, seconds: float = 30) -> str | None:
        return self._post(port, script, seconds)

    def ask_behind(self, port: int, own: int, script: str) -> str | None:
        """The same of a container that the one behind `port` reaches at its own port `own`.

        Asked again for a minute where nothing answers: a container that is said to run may need a
        while until its program listens.
        """
        until = self.machine.deadline(60)
        while (said := self._ask_behind(port, own, script)) is None and until.remaining() > 0:
            time.sleep(1)
        return said

    def _ask_behind(self, port: int, own: int, script: str) -> str | None:
        # Its wget crashes when it has to post, so the request is made by hand.
        one, two = secrets.randbelow(1 << 40), secrets.randbelow(1 << 40)
        body = f"{script}\necho\necho $(({one}+{two}))".replace("'", "'\\''")
        said = self.ask(
            port,
            f"b='{body}'\nprintf 'POST /cgi-bin/ask HTTP/1.0\\r\\nContent-Length: %s\\r\\n\\r\\n%s'"
            f' ${{#b}} "$b" | timeout 30 nc 127.0.0.1 {own}',
            seconds=60,
            every=60,
        ).replace("\r", "")
        found, end, _ = said.partition(f"\n{one + two}")
        return found.partition("\n\n")[2].strip() if end else None

    def silent(self, port: int) -> bool:
        """Whether nothing at all answers behind a port."""
        address, number = self.machine.forward(port)
        done = run_tool(["curl", "-s", "-m", "10", f"telnet://{address}:{number}"], limit=4096)
        heard = bool(done.stdout)
        # What is no HTTP is an answer too.
        done = run_tool(
            ["curl", "-s", "-m", "10", "--http0.9", f"http://{address}:{number}/"], limit=1 << 16
        )
        return not heard and not done.stdout and done.status != 0

    # -- its disk -----------------------------------------------------------------------------

    def slots(self, layout: DeliveredSlots) -> dict[str, str]:
        """The SHA-256 of either slot as it now is."""
        copy = self.machine.flatten()
        try:
            return {slot: layout.digest(copy, slot) for slot in "ab"}
        finally:
            copy.unlink()
