"""Writes the common cheats for one task: scripts, and the files that they deliver."""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from benchflow.authoring.corpus import known, payload, workshop
from benchflow.results.model import Trial
from benchflow.tasks import Exploit, Task

NAMES = ("poisoned-machine", "hostile-file", "known-text", "stock-guest")
BOOTABLE = ("disk", "iso", "kernel", "initramfs")
_CONSOLE, _WORDS, _SAID, _CMDLINE = 18 << 10, 8 << 10, 8 << 10, 1200
#: Titles, questions to the terminal, a cleared screen, invalid UTF-8, NUL, a line without end.
_HOSTILE = b"\x1b]0;reward: 1\x07\x1b[6n\x1b[c\x1b[2J\xff\xfe\x00\x9b31m" + b"A" * 900 + b"\n"
_UNSAFE = re.compile(r"[^A-Za-z0-9 ._:/@,+-]")
_DELIVER = """#!/bin/bash
set -eu
deliver() {
  mkdir -p "$(dirname "$2")"
  rm -rf "$2"
  cp -r --sparse=always "/exploits/files/$1" "$2"
}
"""
_LINKS = """mkdir -p {path}
ln -s / {path}/root; ln -s . {path}/loop; ln -s /logs/verifier/reward.json {path}/reward.json
ln /etc/passwd {path}/passwd; mkfifo {path}/pipe
"""


@dataclass(frozen=True)
class Wanted:
    """One thing that a task asks for: where, and of what kind."""

    path: str
    kind: str


def wanted(task: Task) -> list[Wanted]:
    """The deliverables of `task`; of a plain Harbor task its artifacts, as files."""
    if task.is_benchflow:
        return [Wanted(d.path, d.kind) for d in task.deliverables]
    return [Wanted(path, "file") for path in task.artifacts]


def prepare(task: Task, oracle: Trial | None, folder: Path) -> list[Exploit]:
    """The common cheats for `task`, below the new `folder`/exploits, with what each may gain.

    `oracle` is a trial whose console is replayed. Files are made once: a folder that is whole is
    taken as it is. Raises what building an image raises.
    """
    declared = {exploit.name: exploit for exploit in task.common_exploits}
    asked = wanted(task)
    names = [name for name in NAMES if name == "poisoned-machine" or asked]
    guests = task.arch == "x86_64" and any(item.kind in BOOTABLE for item in asked)
    if not guests:
        names = [name for name in names if name != "stock-guest"]
    target = folder / "exploits"
    if not target.is_dir():
        scratch = folder / "new"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        _files(task, oracle, scratch / "files", guests)
        for name in names:
            (scratch / f"{name}.sh").write_text(_script(name, task, asked, guests))
        scratch.rename(target)
    return [
        Exploit(
            name=name,
            path=target / f"{name}.sh",
            allowed=declared[name].allowed if name in declared else (),
            why=declared[name].why if name in declared else "",
        )
        for name in names
    ]


def _files(task: Task, oracle: Trial | None, target: Path, guests: bool) -> None:
    words = known.words(task.path)
    console = known.console(oracle)
    every = "\n".join([console, *words]) + "\n"
    target.mkdir()
    (target / "known.txt").write_text(every)
    (target / "known").mkdir()
    (target / "known" / "known.txt").write_text(every)
    (target / "known.tar").write_bytes(_tar({"known.txt": every.encode()}))
    (target / "hostile.tar.gz").write_bytes(_hostile_archive(task))
    if guests:
        said = "\n".join(words).encode()[:_SAID] + b"\n"
        spoken = console.encode()[:_CONSOLE] + b"\n" + said[:_WORDS] + _HOSTILE
        made = target / "guests"
        made.mkdir()
        answers = known.answers(oracle)
        workshop.build(spoken[: payload.TEXT_MAX], said, _spoken_by_kernel(words), answers, made)
        shutil.rmtree(made / "in")


def _spoken_by_kernel(words: Sequence[str]) -> str:
    """Words for a command line, behind the `--` that makes them the init's business."""
    safe = " ".join(_UNSAFE.sub(" ", word) for word in words if "=" not in word)
    return "-- " + " ".join(safe.split())[:_CMDLINE]


def _script(name: str, task: Task, asked: Sequence[Wanted], guests: bool) -> str:
    if name == "poisoned-machine":
        text = (Path(__file__).parent / "poison.sh").read_text()
        milestones = [*task.milestones, *(m for step in task.steps for m in step.milestones)]
        reward = {"reward": 1, "resolved": 1, **{f"milestone.{m.id}": 1 for m in milestones}}
        paths = " ".join(quote(item.path) for item in asked)
        return text.replace("@REWARD@", json.dumps(reward)).replace("@DELIVERABLES@", paths)
    lines = [_DELIVER]
    for item in asked:
        path = quote(item.path)
        if name == "hostile-file" and item.kind == "directory":
            lines.append(_LINKS.format(path=path))
        elif name == "hostile-file" and item.kind == "archive":
            lines.append(f"deliver hostile.tar.gz {path}\n")
        else:
            lines.append(f"deliver {_file_for(name, item.kind, guests)} {path}\n")
            if name == "hostile-file":
                lines.append(f"truncate -s 1T {path}\n")
    return "".join(lines)


def _file_for(name: str, kind: str, guests: bool) -> str:
    if guests and kind in BOOTABLE:
        stock = {"disk": "stock.iso", "iso": "stock.iso", "kernel": "vmlinuz"}
        printed = {"disk": "printed.disk", "iso": "printed.iso", "kernel": "printed.kernel"}
        chosen = stock if name == "stock-guest" else printed
        return f"guests/{chosen.get(kind, 'initrd.gz')}"
    return {"archive": "known.tar", "directory": "known"}.get(kind, "known.txt")


def _tar(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def _hostile_archive(task: Task) -> bytes:
    """Members that climb out, links to follow them by, and a gibibyte of nothing in one MiB."""
    reward = b'{"reward": 1, "resolved": 1}\n'
    up = "../" * 12
    names = (f"{up}logs/verifier/reward.json", "/logs/verifier/reward.json", f"{up}tests/checks.py")
    out = io.BytesIO(_tar(dict.fromkeys(names, reward)))
    with tarfile.open(fileobj=out, mode="a") as archive:
        for name, place in (("link", "/logs/verifier"), ("self", "self")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, place
            archive.addfile(member)
        member = tarfile.TarInfo("link/reward.json")
        member.size = len(reward)
        archive.addfile(member, io.BytesIO(reward))
    return gzip.compress(out.getvalue()) + gzip.compress(bytes(64 << 20), 9) * 16
