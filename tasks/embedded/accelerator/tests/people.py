"""Who may use the cards, and what of more rights is on the station."""

from __future__ import annotations

import secrets

import bus
import programs
from unit import ANNA, BERT, DENIED, ROOT, Station, compile_in

from benchflow.bench.wrong_passwords import let_in, near

# What runs a text that is another file.
READERS = {"sh", "dash", "bash", "perl", "python3", "python3.11", "tcc", "busybox", "env"}


def nodes(unit: Station) -> None:
    for slot in unit.slots:
        shown = unit.say(f"stat -c '%F %U %G %a' /dev/kvarn-{slot}")
        assert shown == "character special file root kvarn 660", (
            f"[R11] owner root, group kvarn, mode 0660: /dev/kvarn-{slot} is {shown}"
        )


def member_works(unit: Station) -> None:
    word = secrets.randbelow(1 << 32)
    shell = unit.as_user(*ANNA)
    done = shell.run(f"id -u; kvarn -c {unit.slots[1]} alive {word:08x}").stdout.split()
    assert done[:1] != ["0"] and done[1:] == [f"{word ^ 0xFFFFFFFF:08x}"], (
        f"[R12] members of kvarn can do everything: anna's user and answer are {done}"
    )


def passwords(unit: Station) -> None:
    """Words that are no password of these three; root's session is over then."""
    unit.root()
    found = [
        (user, word)
        for user, right in (ROOT, BERT)
        for word in let_in(unit.machine, user, near(right))
    ]
    unit.session = None
    assert not found, f"[R3] let in with a wrong password or none: {found}"


def stranger_is_refused(unit: Station) -> None:
    mark = unit.bus.mark()
    shell = unit.as_user(*BERT)
    listed = shell.run("kvarn list", check=True).stdout.split()
    assert listed == list(unit.slots), f"[R12] except `kvarn list`: bert's says {listed}"
    card = f"-c {unit.slots[0]}"
    for command in ("alive 00000000", f"{card} alive 00000000", "fact 3", "copy",
                    f"{card} put 0", f"{card} get 0 1", f"{card} ping 00000010"):  # fmt: skip
        status = shell.run(f"echo x | kvarn {command} 2>/dev/null").status
        assert status == DENIED, f"[R12] then ends with status 4: bert's `{command}`: {status}"
    reached = bus.orders(unit.bus.since(mark))
    assert not reached, f"[R12] nobody else: of bert's there came to a card {reached[:3]}"


def nothing_has_more_rights(unit: Station) -> None:
    """Files with set-uid, set-gid or capabilities, over the whole system; and all processes."""
    program = compile_in(unit, "rights", programs.RIGHTS.encode(), library=False)
    marked = unit.say(f"{program} /", 240).splitlines()
    known = _packaged(unit, [line.split()[-1] for line in marked])
    more = [line for line in marked if line.split()[-1] not in known]
    assert not more, f"[R12] no program of yours has set-uid, set-gid or capabilities: {more[:5]}"
    held = unit.say("find /proc/[0-9]*/fd -lname '/dev/kvarn*' 2>/dev/null; :")
    assert held == "", f"[R12] no process in the background: {held.split()[:3]} hold a card"
    found = strangers(unit)
    assert not found, f"[R12] no process of yours runs in the background: {found[:5]}"


def strangers(unit: Station) -> list[str]:
    """Processes whose program belongs to no package but one of ours, and texts that are run; the
    kernel's have no program, and those of this log-in are known by their parents."""
    said = unit.say(
        "echo self $$; for p in /proc/[0-9]*; do x=$(readlink $p/exe) || continue; "
        "set -- $(sed 's/.*) //' $p/stat); "
        'echo "${p#/proc/} $2 $x $(tr "\\0" " " <$p/cmdline | cut -c 1-80)"; done 2>/dev/null',
        120,
    )
    rows = [line.split(" ", 3) for line in said.splitlines()]
    me = rows[0][1]
    parents = {row[0]: row[1] for row in rows[1:] if len(row) > 2}
    mine, at = set(), me
    while at in parents:
        mine.add(at)
        at = parents[at] if parents[at] != "1" else ""
    others = [row for row in rows[1:] if len(row) > 2 and row[0] not in mine
              and row[1] not in mine]  # fmt: skip
    texts = {row[0]: _text(row) for row in others}
    known = _packaged(unit, sorted({row[2] for row in others} | set(texts.values()) - {""}))
    return [
        " ".join(row) for row in others
        if row[2] not in known or (_reads(row) and texts[row[0]] not in known)
    ]  # fmt: skip


def _reads(row: list[str]) -> bool:
    return row[2].rpartition("/")[2] in READERS


def _text(row: list[str]) -> str:
    """The file that a shell or the like runs, "" where there is none or it is no such thing."""
    words = row[3].split()[1:] if _reads(row) and len(row) > 3 else []
    return next((word for word in words if word.startswith("/")), "")


def _packaged(unit: Station, paths: list[str]) -> set[str]:
    """Those of these files that belong to packages of Debian's, under the one name or the other:
    /lib and others are links to what is in /usr."""
    found = set()
    for path in paths:
        names = f"{path} {path.removeprefix('/usr')}"
        owners = unit.root().run(f"dpkg-query -S {names} 2>/dev/null").stdout
        if any("kvarn" not in line.split(":")[0] for line in owners.splitlines()):
            found.add(path)
    return found
