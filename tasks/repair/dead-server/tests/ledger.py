"""The owner's ledger: what the service answers of it, and what of it lies on the disk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import owner_data
import server as facts
from atlas import Server, given_away, owners_files
from owner_data import CHECKSUMS, DOCUMENTS, RECORDS
from state import State
from tally import balance, paper, proof

from benchflow.bench.ssh_host_proof import prove_host_key
from benchflow.boot.inspect.ext4 import Ext4

Draw = Callable[[], str]


def unharmed(volume: Ext4, added: Sequence[str] = ()) -> None:
    """Nothing of the owner's is lost, changed or given away."""
    found = owners_files(volume)
    lost = [name for name, digest in CHECKSUMS.items() if found.get(name) != digest]
    assert not lost, f"[R3] byte for byte: missing or changed: {lost[:5]}"
    live = volume.read("/ledger/live.journal").decode(errors="replace")
    wanted = owner_data.LIVE + "".join(record + "\n" for record in added)
    assert live == wanted, "[R3] byte for byte: live.journal is not the open year's records"
    site = volume.read("/ledger/site").decode(errors="replace").strip()
    assert site == owner_data.SITE, f"[R3] byte for byte: ledger/site is {site!r}"
    names = {*CHECKSUMS, "ledger/live.journal", "ledger/site"}
    others = given_away(volume, names)
    assert not others, f"[R3] with its owner (990:990), [R14] open to nobody else: {others[:5]}"


def holds_records(server: Server, nonce: Draw) -> None:
    """Its records, asked by numbers that nobody could foresee."""
    client = server.tally()
    said = client.ask("HELLO")
    assert said == f"tally 2.1 site {owner_data.SITE} records {len(RECORDS)}", f"[R9] {said!r}"
    for _ in range(6):
        word = nonce()
        start = int(word[:8], 16) % len(RECORDS) + 1
        last = min(len(RECORDS), start + int(word[8:12], 16) % 400)
        answer = client.ask(f"PROVE {word} {start} {last}")
        assert answer == proof(word, RECORDS[start - 1 : last]), (
            f"[R9] all records in it: not {start} to {last}"
        )
        assert client.ask(f"GET {last}") == RECORDS[last - 1], f"[R9] not record {last}"
    client.close()


def holds_papers(server: Server, nonce: Draw) -> None:
    """Its papers, with a word of this run in each answer."""
    client = server.tally()
    names = sorted(DOCUMENTS)
    for _ in range(6):
        word = nonce()
        name = names[int(word[:8], 16) % len(names)]
        assert client.ask(f"DOC {word} {name}") == paper(word, name), f"[R9] papers: not {name}"
    client.close()


def takes_records(server: Server, nonce: Draw) -> None:
    """A record that is added is there, and in the balance."""
    client = server.tally()
    server.add(client, nonce())
    records = RECORDS + server.added
    word = nonce()
    answer = client.ask(f"PROVE {word} {len(RECORDS) - 3} {len(records)}")
    assert answer == proof(word, records[len(RECORDS) - 4 :]), "[R9] it takes new records"
    assert int(client.ask("BAL lamps")) == balance("lamps", records), "[R9] the balance is wrong"
    client.close()


def serves_as_its_own_user(server: Server, first: State) -> None:
    """The service has its own user, no rights, and the vendor's programs."""
    main = first.units["tallyd"].get("ExecMainPID", "")
    assert main.isdigit() and main != "0", "[R9] serves after every start: tallyd does not run"
    told = server.root(
        f"grep -E '^(Uid|Groups|CapEff|NoNewPrivs)' /proc/{main}/status | tr '\\n' ' '; "
        f"readlink /proc/{main}/exe; tr '\\0' ' ' < /proc/{main}/cmdline; echo; "
        f"ss -H -lntp sport = :{facts.PORT}; systemctl show tallyd -p ProtectSystem"
    )
    alone = (
        "Uid: 990 990 990 990 Groups: 990 CapEff: 0000000000000000 NoNewPrivs: 1",
        f"pid={main},",
    )
    for wanted in alone:
        assert wanted in " ".join(told.split()), f"[R9] as its own user: {told}"
    assert "ProtectSystem=strict" in told, f"[R14] nothing is weaker than before: {told}"
    assert "/usr/bin/python3" in told and "/usr/lib/tally/tallyd" in told, (
        f"[R7] its programs as the vendor ships them: {told}"
    )


def was_read_first(first: State) -> None:
    """ledger-check had read everything before the service opened the books."""
    assert first.held_up > 4_000_000, (
        "[R10] ledger-check, as it worked for us: it does not take the five seconds that a drop-in "
        f"of the bench's makes it take: {first.units['ledger-check']}"
    )
    assert first.read_first, (
        "[R9] read through each time before tallyd opens the books: ledger-check (which takes "
        f"five seconds here) ended at {first.units['ledger-check']}, tallyd opened them at "
        f"{first.opened} µs"
    )
    assert int(first["counted"] or 0) == len(RECORDS), (
        f"[R9] the ledger has been read through: {first['counted']} of {len(RECORDS)} records"
    )


def was_copied(server: Server) -> None:
    """The copy of the ledger is the ledger, in a folder for its user alone."""
    place = server.root("stat -c '%u %g %a %F' /var/backups/tally").split(maxsplit=3)
    uid, gid, mode = int(place[0]), int(place[1]), int(place[2], 8)
    shut = uid in (0, 990) and not mode & 0o007 and (gid == 990 or not mode & 0o070)
    assert shut and place[3].strip() == "directory", (
        f"[R10] the folder is for the ledger's user and nobody else: owner {uid}:{gid}, {mode:o}"
    )
    shown = "-p User -p SupplementaryGroups -p ProtectSystem"
    told = {*server.root(f"systemctl show tally-backup {shown}").split()}
    assert told == {"User=tally", "SupplementaryGroups=", "ProtectSystem=strict"}, (
        f"[R14] nothing is weaker than before: tally-backup runs with {sorted(told)}"
    )
    body = "".join(record + "\n" for record in RECORDS).encode()
    assert server.copied() == hashlib.sha256(body).hexdigest(), (
        "[R10] copies the ledger at every start: the copy is not the ledger"
    )


def as_before(server: Server, first: State) -> None:
    """R12: this start has turned out as the first did, and made its own copy of the ledger."""
    now = server.state()
    assert now["boot"] != first["boot"], "[R12] it was not started again"
    assert not (wrong := now.differs(first)), f"[R12] the same state as before: {wrong}"
    records = len(RECORDS) + len(server.added)
    assert int(now["counted"] or 0) == records, (
        f"[R9] read through each time: {now['counted']} of {records} records"
    )
    prove_host_key(server.machine.forward(22), facts.HOST_KEY)


def copy_is_of_this_start(server: Server) -> None:
    """The copy of the ledger holds what was added before this start."""
    body = "".join(record + "\n" for record in RECORDS + server.added).encode()
    assert server.copied() == hashlib.sha256(body).hexdigest(), (
        "[R10] copies the ledger at every start: the copy lacks what was added before this one"
    )


def everything_is_there(server: Server, nonce: Draw) -> None:
    """Every record that was acknowledged is in the ledger, and no other."""
    client = server.tally()
    records = RECORDS + server.added
    word = nonce()
    said = client.ask("HELLO")
    assert said.endswith(f" records {len(records)}"), (
        f"[R12] an acknowledged record is there: {said!r}, wanted {len(records)} records"
    )
    assert client.ask(f"PROVE {word} 1 {len(records)}") == proof(word, records), (
        "[R12] an acknowledged record is there: the records are others"
    )
    client.close()
