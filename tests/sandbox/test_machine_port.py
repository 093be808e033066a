"""What a hostile guest sends over its port: none of it leads anywhere on the host."""

from __future__ import annotations

import contextlib
import errno
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchflow.sandbox.transfer import Unreadable
from benchflow.sandbox.vm import execution, files, frames
from benchflow.sandbox.vm.channel import Channel, Gone, Stream
from benchflow.sandbox.vm.frames import Kind

KEY = bytes(range(200, 216))
NONCE = b"n" * 16
HELLO = KEY + NONCE
ANSWER = bytes(byte ^ 0xFF for byte in KEY) + NONCE


class Guest:
    """The guest's end of a port, and a channel at the other."""

    def __init__(self) -> None:
        ours, self.port = socket.socketpair()
        self.connections: list[Stream] = []
        self.agents = 0
        self.channel = Channel(ours, KEY, self.connections.append, self._greeted)

    def _greeted(self) -> None:
        self.agents += 1

    def greet(self, before: bytes = b"") -> None:
        self.port.sendall(before + HELLO)
        assert self._exactly(len(ANSWER)) == ANSWER
        assert self.channel.wait(10)

    def heard(self) -> tuple[Kind, int, bytes]:
        length, kind, stream = struct.unpack("<III", self._exactly(12))
        return Kind(kind), stream, self._exactly(length)

    def say(self, kind: int, stream: int, payload: bytes = b"") -> None:
        self.port.sendall(struct.pack("<III", len(payload), kind, stream) + payload)

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            chunk = self.port.recv(count - len(data))
            assert chunk, "the host hung up"
            data += chunk
        return data


@pytest.fixture
def guest() -> Iterator[Guest]:
    made = Guest()
    made.port.settimeout(20)
    yield made
    made.port.close()


def text(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


def entry(kind: bytes, path: bytes, rest: bytes = b"") -> bytes:
    return kind + text(path) + struct.pack("<IQ", 0o644, 0) + rest


def contents(*pieces: tuple[int, bytes], size: int) -> bytes:
    return (
        struct.pack("<Q", size)
        + b"".join(struct.pack("<QI", at, len(data)) + data for at, data in pieces)
        + struct.pack("<QI", 0, 0)
    )


def fetch(guest: Guest, host: Path, sent: bytes, limit: int | None = None) -> list[str]:
    """`get` from a guest that sends this."""

    def serve() -> None:
        kind, stream, path = guest.heard()
        assert (kind, path) == (Kind.GIVE, b"/srv/x")
        for at in range(0, len(sent), frames.PAYLOAD):
            guest.say(Kind.OUT, stream, sent[at : at + frames.PAYLOAD])
        guest.say(Kind.END, stream)

    serving = threading.Thread(target=serve)
    serving.start()
    try:
        return files.get(guest.channel, "/srv/x", host, limit)
    finally:
        serving.join()


def test_a_tree_is_made_as_it_was_sent(guest: Guest, tmp_path: Path) -> None:
    guest.greet()
    sent = entry(b"d", b"") + entry(b"d", b"a") + entry(b"s", b"a/pipe")
    sent += entry(b"f", b"a/f", contents((4096, b"x"), size=8192)) + entry(b"l", b"l", text(b"a/f"))
    assert fetch(guest, tmp_path / "out", sent + b"z") == ["/srv/x/a/pipe"]
    data = (tmp_path / "out/a/f").read_bytes()
    assert len(data) == 8192 and data[4096:4097] == b"x" and data.count(b"\0") == 8191
    assert (tmp_path / "out/l").readlink() == Path("a/f")


FILE = contents((0, b"evil"), size=4)
HOSTILE = {
    "up": entry(b"d", b"") + entry(b"f", b"../evil", FILE),
    "up in the middle": entry(b"d", b"") + entry(b"d", b"a") + entry(b"f", b"a/../../evil", FILE),
    "absolute": entry(b"d", b"") + entry(b"f", b"/evil", FILE),
    "through a link": entry(b"d", b"")
    + entry(b"l", b"a", text(b".."))
    + entry(b"f", b"a/evil", FILE),
    "a link in place of a folder": entry(b"d", b"")
    + entry(b"d", b"a")
    + entry(b"l", b"a", text(b".."))
    + entry(b"f", b"a/evil", FILE),
    "the same twice": entry(b"d", b"") + entry(b"f", b"a", FILE) + entry(b"f", b"a", FILE),
    "a folder that nobody made": entry(b"d", b"") + entry(b"f", b"b/a", FILE),
    "a name with a nul": entry(b"d", b"") + entry(b"f", b"a\0b", FILE),
    "a piece behind the end": entry(b"f", b"", contents((9, b"x"), size=4)),
    "pieces out of order": entry(b"f", b"", contents((2, b"x"), (0, b"x"), size=4)),
    "a file without an end": entry(b"f", b"", struct.pack("<Q", 1 << 63)),
    "a path of a gigabyte": b"f" + struct.pack("<I", 1 << 30),
    "an unknown kind": entry(b"q", b""),
    "nothing": b"",
    "an end without a beginning": b"z",
    "cut off": entry(b"f", b"")[:-3],
}


@pytest.mark.parametrize("sent", HOSTILE.values(), ids=HOSTILE)
def test_no_entry_leads_out_of_its_folder(guest: Guest, tmp_path: Path, sent: bytes) -> None:
    guest.greet()
    (tmp_path / "in").mkdir()
    with pytest.raises(Unreadable):
        fetch(guest, tmp_path / "in/out", sent)
    assert not [path for path in tmp_path.rglob("evil*") if "in/out" not in str(path)]
    assert sorted(tmp_path.iterdir()) == [tmp_path / "in"]


def test_what_a_former_copy_left_is_no_way_out_either(guest: Guest, tmp_path: Path) -> None:
    guest.greet()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a").symlink_to(tmp_path / "elsewhere")
    sent = entry(b"d", b"") + entry(b"d", b"a") + entry(b"f", b"a/evil", FILE) + b"z"
    fetch(guest, tmp_path / "out", sent)
    assert not list((tmp_path / "elsewhere").iterdir())
    assert (tmp_path / "out/a/evil").read_bytes() == b"evil"


def test_more_than_was_allowed_is_out_of_reach(guest: Guest, tmp_path: Path) -> None:
    guest.greet()
    sent = entry(b"f", b"", contents((0, b"x" * 20_000), size=1 << 40))
    with pytest.raises(Unreadable) as told:
        fetch(guest, tmp_path / "out", sent + b"z", limit=10_000)
    assert told.value.errno == errno.EFBIG


def test_a_missing_file_is_missing(guest: Guest, tmp_path: Path) -> None:
    guest.greet()
    with pytest.raises(FileNotFoundError) as told:
        fetch(guest, tmp_path / "out", b"e" + struct.pack("<I", errno.ENOENT) + text(b"no"))
    assert not isinstance(told.value, Unreadable)


def run(guest: Guest, **how: object) -> object:
    asked = {"timeout": None, "stdin": b"", "on_output": None, "cancel": None, **how}
    return execution.run(guest.channel, frames.command("root", "/", "true", {}), **asked)  # type: ignore[arg-type]


def test_a_greeting_in_the_middle_of_a_frame_is_found_and_ends_what_ran(guest: Guest) -> None:
    guest.greet(before=b"what the firmware said\0\1\2")
    results: list[object] = []
    running = threading.Thread(target=lambda: results.append(run(guest)))
    running.start()
    kind, stream, _ = guest.heard()
    assert kind is Kind.EXEC
    guest.port.sendall(struct.pack("<III", 60_000, Kind.OUT, stream) + b"half")
    guest.heard()  # the end of standard input
    guest.greet(before=b"\3\0")
    running.join(10)
    assert results and results[0].status == execution.KILLED  # type: ignore[attr-defined]
    assert guest.agents == 2


@pytest.mark.parametrize(
    "sent",
    [struct.pack("<III", 1 << 31, Kind.OUT, 1), struct.pack("<III", 0, Kind.EXEC, 1), b"\xff" * 12],
    ids=["a frame of 2 GiB", "what only the host says", "noise"],
)
def test_what_is_no_frame_ends_the_conversation(guest: Guest, sent: bytes) -> None:
    guest.greet()
    guest.port.sendall(sent)
    with pytest.raises(Gone):
        for _ in range(1000):
            guest.channel.open(Kind.EXEC, b"").close()
            threading.Event().wait(0.01)


def test_a_guest_that_sends_more_than_was_granted_is_hung_up_on(guest: Guest) -> None:
    guest.greet()
    stream = guest.channel.open(Kind.EXEC, b"")
    try:
        for _ in range(64):
            guest.say(Kind.OUT, stream.number, b"x" * frames.PAYLOAD)
    except ConnectionError:
        pass  # it hung up while we were at it
    with contextlib.suppress(ConnectionResetError):
        while guest.port.recv(4096):
            continue
    assert not guest.channel.wait(0)


def test_a_thousand_connections_are_not_a_thousand_streams(guest: Guest) -> None:
    guest.greet()
    for number in range(1000):
        guest.say(Kind.OPEN, 0x80000000 + number)
        if number >= 256:
            assert [guest.heard()[:2] for _ in range(2)] == [
                (Kind.KILL, 0x80000000 + number),
                (Kind.END, 0x80000000 + number),
            ]
    assert len(guest.connections) == 256
    for stream in guest.connections:
        stream.close()


def test_output_and_status_come_back(guest: Guest) -> None:
    guest.greet()
    results: list[object] = []
    running = threading.Thread(target=lambda: results.append(run(guest, stdin=b"in")))
    running.start()
    kind, stream, asked = guest.heard()
    assert kind is Kind.EXEC and text(b"-c") + text(b"true") in asked
    assert guest.heard() == (Kind.DATA, stream, b"in")
    assert guest.heard() == (Kind.END, stream, b"")
    guest.say(Kind.OUT, stream, b"out")
    guest.say(Kind.ERR, stream, b"err")
    guest.say(Kind.STATUS, stream, struct.pack("<I", 3))
    running.join(10)
    (result,) = results
    assert (result.stdout, result.stderr, result.status) == (b"out", b"err", 3)  # type: ignore[attr-defined]


def test_descriptors_are_given_back(guest: Guest) -> None:
    guest.greet()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(50):
        guest.channel.open(Kind.SYNC, b"").close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
