"""What programs are like when nothing else was said, and who there is on the board."""

from __future__ import annotations

import re

import elves


def faults(data: bytes) -> str:
    """What is missing in a dynamic program or library, "" when nothing is."""
    facts = elves.read(data)
    if facts.machine != elves.RISCV or facts.kind != elves.DYN:
        return "no position-independent file for RISC-V"
    if not facts.relro or not facts.now:
        return f"RELRO: {facts.relro}, BIND_NOW: {facts.now}"
    if not facts.gnu_hash or facts.sysv_hash:
        return f"GNU's hash table: {facts.gnu_hash}, the other: {facts.sysv_hash}"
    if not facts.build_id:
        return "there is no build-id"
    if facts.stack_flags is None or facts.stack_flags & 1:
        return "its stack can be executed"
    return "a segment can be written and executed" if facts.writable_code else ""


def people_faults(board) -> list[str]:
    """Who may do what R22 does not give them."""
    people, words = board.rows("/etc/passwd"), board.rows("/etc/shadow")
    found = [
        f"{path} has a name twice"
        for path, rows in (("/etc/passwd", people), ("/etc/shadow", words))
        if len({row[0] for row in rows}) != len(rows)
    ]
    lords = sorted(row[0] for row in people if not row[2].strip("0"))
    if lords != ["root"]:
        found.append(f"{lords} are root")
    let_in = [row[0] for row in words if row[1][:1] not in ("!", "*")]
    let_in += [row[0] for row in people if row[1] != "x" and row[1][:1] not in ("!", "*")]
    if set(let_in) != {"root"}:
        found.append(f"{let_in} can log in, with a password or without one")
    if board.run("ls -d /etc/tcb").status == 0:
        found.append("/etc/tcb, where musl asks first, lets others in")
    ids = board.trial("id").stdout
    if not re.match(r"uid=1000\(trial\) ", ids) or re.search(r"[=,]0\(", ids):
        found.append(f"trial is {ids.strip()[:200]!r}")
    held = re.findall(
        r"Cap(?:Inh|Prm|Eff|Amb):\s+(\S+)", board.trial("cat /proc/self/status").stdout
    )
    if len(held) != 4 or any(one.strip("0") for one in held):
        found.append(f"trial has the capabilities {held}")
    if board.trial("cat /etc/shadow").status == 0:
        found.append("trial reads /etc/shadow")
    return found
