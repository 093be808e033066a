"""Kickstart files: what KICKSTART.md allows, read into one object; everything else is Refused."""

# Paths are texts here: those of a tree that is not the machine's own are made by joining.
# ruff: noqa: PTH118, PTH120, PTH123

import os
import re
import shlex
from dataclasses import dataclass, field

NAME = re.compile(r"[a-z_][a-z0-9_-]{0,30}")
HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9-]{1,63})*")
HASH = re.compile(r"\$[0-9a-z]+\$[^:\s]+")
LABEL = re.compile(r"[A-Za-z0-9_-]{1,11}")


class Refused(Exception):
    """`where` is (file, line)."""

    def __init__(self, where, what):
        super().__init__(f"{where[0]}:{where[1]}: {what}")


@dataclass
class Section:
    where: tuple
    options: dict
    lines: list = field(default_factory=list)


@dataclass
class Kickstart:
    single: dict = field(default_factory=dict)
    parts: list = field(default_factory=list)
    groups: list = field(default_factory=list)
    users: list = field(default_factory=list)
    packages: Section | None = None
    posts: list = field(default_factory=list)


# Options by command: a pattern that the value has to match, or None for a flag. `words` counts
# the arguments that are no options.
GRAMMAR = {
    "url": (0, {"url": re.compile(r"(http|file)://\S+")}),
    "lang": (1, {}),
    "timezone": (1, {}),
    "network": (0, {"hostname": HOST}),
    "rootpw": (None, {"lock": None, "iscrypted": None}),
    "bootloader": (0, {"append": re.compile(r"[^\n]*"), "timeout": re.compile(r"\d{1,3}")}),
    "services": (0, {"enabled": re.compile(r"\S+"), "disabled": re.compile(r"\S+")}),
    "group": (0, {"name": NAME, "gid": re.compile(r"\d{1,5}")}),
    "user": (0, {"name": NAME, "uid": re.compile(r"\d{1,5}"), "groups": re.compile(r"\S+"),
                 "homedir": re.compile(r"/[^:\s]*"), "shell": re.compile(r"/[^:\s]*"),
                 "gecos": re.compile(r"[^:\n]*"), "password": HASH, "iscrypted": None,
                 "lock": None}),
    "part": (1, {"fstype": re.compile(r"ext4|vfat|swap"), "size": re.compile(r"[1-9]\d{0,5}"),
                 "label": LABEL}),
}  # fmt: skip
SECTIONS = {
    "%packages": {"excludeWeakdeps": None},
    "%post": {"interpreter": re.compile(r"/\S+"), "erroronfail": None},
}
NEEDED = {"url": ["url"], "network": ["hostname"], "group": ["name"], "user": ["name"],
          "part": ["fstype", "size"]}  # fmt: skip
MANY = {"group": "groups", "user": "users", "part": "parts"}


def split(text, where):
    try:
        return shlex.split(text)
    except ValueError as error:
        raise Refused(where, str(error)) from None


def options(words, allowed, where):
    """(options, arguments) of a line's words after the first."""
    found, rest = {}, []
    for word in words:
        if not word.startswith("--"):
            rest.append(word)
            continue
        name, equals, value = word[2:].partition("=")
        if name not in allowed:
            raise Refused(where, f"unknown option --{name}")
        if name in found:
            raise Refused(where, f"--{name} is there twice")
        pattern = allowed[name]
        if pattern is None and equals:
            raise Refused(where, f"--{name} takes no value")
        if pattern is not None and not (equals and pattern.fullmatch(value)):
            raise Refused(where, f"--{name} has no right value")
        found[name] = value if equals else True
    return found, rest


def read(path):
    made = Kickstart()
    _file(path, made, [])
    end = (path, 0)
    for command in ("url", "rootpw"):
        if command not in made.single:
            raise Refused(end, f"there is no {command}")
    if made.packages is None:
        raise Refused(end, "there is no %packages")
    places = [part["mount"] for part in made.parts]
    for place in ("/", "/boot/efi"):
        if place not in places:
            raise Refused(end, f"there is no part {place}")
    return made


def _lines(path, where):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(where, f"{path} cannot be read: {error}") from None


def _file(path, made, above):
    where = above[-1][1] if above else (path, 0)
    if os.path.realpath(path) in [one for one, _ in above] or len(above) > 16:
        raise Refused(where, f"{path} includes itself")
    section = None
    for number, line in enumerate(_lines(path, where), 1):
        here = (path, number)
        word = (line.split() or [""])[0]
        if section is not None:
            if word == "%end" and line.strip() == "%end":
                section = None
            else:
                section.lines.append((here, line))
        elif word and not word.startswith("#"):
            if word == "%include":
                words = split(line, here)
                if len(words) != 2:
                    raise Refused(here, "%include takes one file")
                beside = os.path.join(os.path.dirname(path), words[1])
                _file(beside, made, [*above, (os.path.realpath(path), here)])
            elif word in SECTIONS:
                section = _section(word, line, here, made)
            else:
                _command(split(line, here), here, made)
    if section is not None:
        raise Refused(section.where, "the section has no %end")


def _section(word, line, here, made):
    found, rest = options(split(line, here)[1:], SECTIONS[word], here)
    if rest:
        raise Refused(here, f"{rest[0]!r} is no option")
    section = Section(here, found)
    if word == "%post":
        made.posts.append(section)
    elif made.packages is not None:
        raise Refused(here, "%packages is there twice")
    else:
        made.packages = section
    return section


def _command(words, here, made):
    name = words[0]
    if name not in GRAMMAR:
        raise Refused(here, f"unknown command {name}")
    count, allowed = GRAMMAR[name]
    found, rest = options(words[1:], allowed, here)
    if count is not None and len(rest) != count:
        raise Refused(here, f"{name} takes {count} arguments")
    for option in NEEDED.get(name, ()):
        if option not in found:
            raise Refused(here, f"{name} needs --{option}")
    found["where"] = here
    if name in MANY:
        _many(name, found, rest, here, made)
        return
    if name in made.single:
        raise Refused(here, f"{name} is there twice")
    if name == "rootpw":
        right = ("lock" in found) != ("iscrypted" in found)
        if not right or len(rest) != ("iscrypted" in found):
            raise Refused(here, "rootpw takes --lock, or --iscrypted and a hash")
        if rest and not HASH.fullmatch(rest[0]):
            raise Refused(here, "this is no hash of a password")
    if name == "lang" and not re.fullmatch(r"[A-Za-z0-9._@-]+", rest[0]):
        raise Refused(here, "this is no locale")
    found["words"] = rest
    made.single[name] = found


def _many(name, found, rest, here, made):
    held = getattr(made, MANY[name])
    if name == "part":
        place = found["mount"] = rest[0]
        if (place == "swap") != (found["fstype"] == "swap"):
            raise Refused(here, "swap and only swap is swap")
        if place != "swap" and (not place.startswith("/") or os.path.normpath(place) != place):
            raise Refused(here, f"{place!r} is no mount point")
        if (place == "/" and found["fstype"] != "ext4") or (
            place == "/boot/efi" and found["fstype"] != "vfat"
        ):
            raise Refused(here, f"{place} cannot be {found['fstype']}")
        key = "mount"
    else:
        key = "name"
    for other in held:
        if other[key] == found[key]:
            raise Refused(here, f"{found[key]} is there twice")
    if name == "user":
        if ("password" in found) != ("iscrypted" in found):
            raise Refused(here, "--password and --iscrypted belong together")
        if "password" in found and "lock" in found:
            raise Refused(here, "a password, or --lock")
    held.append(found)
