"""What programs are like when nothing else was said."""

from __future__ import annotations

import elves


def faults(data: bytes) -> str:
    """What is missing in a dynamic program or library, "" when nothing is."""
    facts = elves.read(data)
    if facts.machine != elves.RISCV or facts.kind != elves.DYN:
        return "no position-independent file for RISC-V"
    if facts.interpreter and not facts.pie:
        return "it has a loader and is not marked as PIE"
    if not facts.relro or not facts.now:
        return f"RELRO: {facts.relro}, BIND_NOW: {facts.now}"
    if not facts.gnu_hash or facts.sysv_hash:
        return f"GNU's hash table: {facts.gnu_hash}, the other: {facts.sysv_hash}"
    if not facts.build_id:
        return "there is no build-id"
    if facts.stack_flags is None or facts.stack_flags & 1:
        return "its stack can be executed"
    return "a segment can be written and executed" if facts.writable_code else ""
