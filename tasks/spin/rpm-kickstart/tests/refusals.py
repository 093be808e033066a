"""Kickstart files that are wrong in one place, and where."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from shlex import quote

_HEAD = """url --url={url}
rootpw --lock
part /boot/efi --fstype=vfat --size=48
part / --fstype=ext4 --size=700
"""
_TAIL = """%packages
{package}
%end
"""


@dataclass(frozen=True)
class Wrong:
    """`files` by path, the first of which is given to the tool; `where` is FILE:LINE."""

    name: str
    files: dict[str, str]
    where: tuple[str, ...] = field(default=())

    def told_by(self, line: str) -> bool:
        """Whether `line` begins with FILE:LINE and a colon.

        The files are given without a folder, which is `.`: what they include may be told as
        ./PATH or as PATH (KICKSTART.md: the folder, a slash, and the path).
        """
        included = (f"./{where}" for where in self.where if "/" in where)
        return line.startswith(tuple(f"{where}: " for where in (*self.where, *included)))


def texts(url: str, package: str) -> list[Wrong]:
    """Mistakes that reading alone finds; words and places of them are drawn."""
    word = secrets.token_hex(3)
    blank = secrets.randbelow(6)
    head, tail = _HEAD.format(url=url), _TAIL.format(package=package)

    def bad(name: str, line: str, more: dict[str, str] | None = None, at: str = "") -> Wrong:
        top = "# one\n" + "\n" * blank
        text = head + top + line + "\n" + tail
        file = f"{name}.ks"
        return Wrong(name, {file: text, **(more or {})}, (at or f"{file}:{6 + blank}",))

    deep = {f"parts/{word}.ks": f"# {word}\n%include more-{word}.ks\n",
            f"parts/more-{word}.ks": f"\n\nuser --name=u{word} --colour=red\n"}  # fmt: skip
    round_ = {f"parts/r{word}.ks": f"%include ../round-{word}.ks\n"}
    name = f"round-{word}"
    circle = bad(name, f"%include parts/r{word}.ks", round_)
    user, group, place = f"user --name=u{word}", f"group --name=g{word}", f"part /srv/{word}"
    small = "--fstype=ext4 --size=9"
    lines = {
        "bare": "lang", "words": f"timezone UTC {word}", "quote": f"lang 'C.{word}",
        "nameless": "user --uid=4321", "hostless": "network", "uid": f"{user} --uid={word}",
        "flag": f"{user} --lock={word}", "hash": f"{user} --iscrypted", "value": "group --name",
        "sizeless": f"{place} --fstype=ext4", "again": f"{place} {small} --size=9",
        "type": f"{place} --fstype={word} --size=9", "place": f"part srv{word} {small}",
        "swapped": f"part swap {small}", "section": f"%pre{word}", "folder": "%include parts",
        "post": f"%post --{word}\n%end", "timeout": f"bootloader --timeout={word}",
    }  # fmt: skip
    doubles = {"url": f"url --url={url}", "users": user, "groups": group,
               "places": f"{place} {small}"}  # fmt: skip
    second = 7 + blank
    return [
        *(bad(name, line) for name, line in lines.items()),
        *(bad(name, f"{line}\n{line}", at=f"{name}.ks:{6 + blank if name == 'url' else second}")
          for name, line in doubles.items()),
        *(Wrong(f"no{number}", {f"no{number}.ks": _without(head, number) + tail},
                (f"no{number}.ks:0",)) for number in (1, 3, 4)),
        Wrong("nothing", {"nothing.ks": head}, ("nothing.ks:0",)),
        Wrong("packs", {"packs.ks": head + tail + tail}, ("packs.ks:8",)),
        Wrong("all", {"all.ks": head + f"%packages --{word}\n{package}\n%end\n"}, ("all.ks:5",)),
        Wrong("spelt", {"spelt.ks": head.replace("--lock", word) + tail}, ("spelt.ks:2",)),
        bad("command", f"volume{word} --size=3"),
        bad("option", f"part /srv --fstype=ext4 --size=9 --{word}=x"),
        bad("number", "part /srv --fstype=ext4 --size=many"),
        bad("swap", "part /srv --fstype=swap --size=16"),
        bad("twice", "part / --fstype=ext4 --size=700"),
        bad("plain", f"user --name=u{word} --password={word}"),
        bad("unit", "rootpw --lock"),
        bad("deep", f"%include parts/{word}.ks", deep, f"parts/more-{word}.ks:3"),
        bad("lost", f"%include parts/none-{word}.ks"),
        Wrong(name, circle.files, (circle.where[0], f"parts/r{word}.ks:1",
                                   f"parts/../round-{word}.ks:{6 + blank}")),
        Wrong("missing", {"missing.ks": head.replace("rootpw --lock\n", "") + tail},
              ("missing.ks:0",)),
        Wrong("endless", {"endless.ks": head + tail + f"\n%post\necho {word}\n"},
              ("endless.ks:9",)),
    ]  # fmt: skip


def _without(head: str, number: int) -> str:
    """The lines without one, counted from 1."""
    lines = head.splitlines(keepends=True)
    return "".join(lines[: number - 1] + lines[number:])


def failing(url: str, word: str) -> Wrong:
    """A script that matters fails, behind one that does not."""
    text = f"{_HEAD.format(url=url)}{_TAIL.format(package='almar-base')}"
    text += f"%post\nfalse {word}\n%end\n\n%post --erroronfail\n: {word}\nexit 3\n%end\n"
    return Wrong("failing", {"failing.ks": text}, ("failing.ks:12",))


def packages(url: str, good: str, hollow: str, needy: str) -> list[Wrong]:
    """Mistakes that only the repository shows: unknown names, needs that nothing fills."""
    none = f"none-{secrets.token_hex(3)}"
    head = _HEAD.format(url=url)
    return [
        Wrong("unknown", {"unknown.ks": f"{head}%packages\n{good}\n# x\n{none}\n%end\n"},
              ("unknown.ks:8",)),
        Wrong("hollow", {"hollow.ks": f"{head}\n%packages\n{hollow}\n{good}\n%end\n"},
              ("hollow.ks:7",)),
        # `needy` requires `good`, which is not to be installed whatever happens.
        Wrong("denied", {"denied.ks": f"{head}%packages\n-{good}\n{needy}\n%end\n"},
              ("denied.ks:7",)),
    ]  # fmt: skip


def trust(url: str, package: str, name: str) -> Wrong:
    """A file that is right, for a repository that is not."""
    text = "# where from\n" + _HEAD.format(url=url) + _TAIL.format(package=package)
    return Wrong(name, {f"{name}.ks": text}, (f"{name}.ks:2",))


def refused(bench, place: str, *wrongs: Wrong, seconds: float = 240) -> None:
    """AssertionError unless the tool refuses each at the right place, and leaves nothing."""
    # All of them by one command: each command takes its time on a console.
    files = [file for wrong in wrongs for file in wrong.files.items()]
    puts = [f"printf %s {quote(text)} >{quote(f'{place}/ks/{path}')}" for path, text in files]
    bench.say(" && ".join(puts))
    for wrong in wrongs:
        main = next(iter(wrong.files))
        status, said, _ = bench.compose(main, "refused.img", seconds)
        assert status != 0, f"{wrong.name} was not refused"
        line = (said.splitlines() or [""])[0]
        assert wrong.told_by(line), (
            f"{wrong.name}: wanted {wrong.where[0]}, said {line[:200]!r} "
            "(KICKSTART.md: the folder of the file that includes it, a slash, and the path)"
        )
