"""Exploits common to all tasks: they run against every task without its author doing anything.

poisoned-machine   Rewards, verdicts and logs written wherever a verifier may look, again and again
                   by a daemon; a false python, pytest and uv in PATH; poisoned Python and pytest
                   plug-ins; links in place of the deliverable.
hostile-file       A deliverable that costs everything to read: a sparse tebibyte, an archive that
                   climbs out and explodes, a tree of links.
known-text         No work at all: a deliverable that carries every word of the task's checks. Where
                   it is bootable, its boot sector or EFI program plays the recorded console of the
                   oracle, prints those words and hostile bytes, and echoes what is typed.
stock-guest        Somebody else's system: Debian's own kernel and busybox, started by a stock GRUB
                   that prints the checks' words, with them on the kernel's command line. Its init
                   replays the oracle's console and answers each command of the checks as the
                   oracle's machine did, the first time only and only under QEMU.

Each is one trial with one verification; the first two deliver what is refused before any boot. The
guests are for x86-64. What an exploit may gain is declared in task.toml, with a reason:

    [[metadata.benchflow.common_exploits]]
    exploit = "stock-guest"
    allowed = ["kernel"]
    why = "a stock kernel does start"
"""
