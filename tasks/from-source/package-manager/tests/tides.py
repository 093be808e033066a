"""What tide.c computes, said again."""

from __future__ import annotations

SHA256 = "410b6b2d6743a1e91e00cf3b1f3ce75ff12915337b6f726a76a6c3e7f8a3f7ff"
NAMES = ("aar", "bekk", "elv", "foss", "sjo", "tjern", "vik")
MASK = (1 << 64) - 1


def tide(seed: str, hours: int) -> str:
    state, level, turns = 14695981039346656037, 0.5, 0
    for byte in seed.encode():
        state = (state ^ byte) * 1099511628211 & MASK
    state = state or 1
    for _ in range(hours):
        state ^= state << 13 & MASK
        state ^= state >> 7
        state ^= state << 17 & MASK
        level += state % 2001 / 1000.0 - 1.0
        if level < 0:
            level, turns = -level, turns + 1
    return f"{NAMES[state % 7]} {state:016x} {level:.3f} {turns}"
