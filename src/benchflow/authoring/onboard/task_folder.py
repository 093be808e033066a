"""The proposed task: an ordinary folder with what reading could say, and nothing invented."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchflow.authoring.new import checked_place
from benchflow.authoring.onboard import proposal
from benchflow.authoring.onboard.facts import Fact, Findings
from benchflow.authoring.onboard.infer import infer, is_needed, licence, port, questions
from benchflow.authoring.onboard.source import Source, opened
from benchflow.authoring.onboard.tree import TEXT_MAX, Note, Tree
from benchflow.base.numbers import plural
from benchflow.base.text import one_line
from benchflow.errors import UsageError
from benchflow.tasks import Task, load

_TEMPLATE = Path(__file__).parent / "template"
_REPOSITORY = "repository.tar.gz"
_COPIED_MAX = 64 << 20
_PACKAGES = {
    "Python": "python3-dev python3-pip python3-venv",
    "JavaScript": "nodejs npm",
    "TypeScript": "nodejs npm",
    "Go": "golang-go",
    "Rust": "cargo rustc",
    "C": "build-essential pkg-config",
    "C++": "build-essential pkg-config",
    "Ruby": "ruby-dev bundler",
    "PHP": "composer php-cli",
    "Perl": "perl",
    "Java": "default-jdk-headless",
}
_MACHINE = "cpio e2fsprogs fdisk grub-pc-bin mmdebstrap qemu-system-x86 qemu-utils xz-utils"


def propose(
    where: str,
    name: str,
    *,
    author: str = "",
    top: Path | None = None,
    licence_told: str = "",
    services: tuple[str, ...] = (),
    told: Callable[[str], None] = lambda _: None,
) -> Task:
    """Makes the task NAME from the repository WHERE, and tells what was and was not inferred.

    Raises UsageError for what is no repository, has no licence, or has a file system's tricks in
    it that leave nothing to be read.
    """
    folder = checked_place(name, top)
    with opened(where) as source:
        findings = infer(source.tree)
        _refuse(source, findings, licence_told)
        for kind in services:
            findings.services.setdefault(kind, []).insert(0, Fact("dependency: said", "--services"))
        left_out = _left_out(source.tree)
        findings.notes += [Note("larger than 1 MiB: not copied into the task", n) for n in left_out]
        try:
            _write(folder, name, author, source, findings, licence_told)
            task = load(folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        _tell(told, source, findings, licence_told)
    return task


def _refuse(source: Source, findings: Findings, licence_told: str) -> None:
    tree = source.tree
    if not tree.sizes:
        refused = f": {tree.refused[0].text} ({tree.refused[0].where})" if tree.refused else ""
        raise UsageError(
            f"{source.where} has no file that can be read{refused}", hint="is it empty?"
        )
    if licence(findings) is None and not licence_told:
        raise UsageError(
            f"{source.where}: no licence was found, so nobody may pass it on",
            hint="with the right to do so, say which: --licence SPDX",
        )


def _left_out(tree: Tree) -> list[str]:
    return [name for name, size in tree.sizes.items() if size > TEXT_MAX][:50]


def _write(
    folder: Path, name: str, author: str, source: Source, findings: Findings, licence_told: str
) -> None:
    for path in sorted(_TEMPLATE.rglob("*")):
        if path.is_file():
            target = folder / path.relative_to(_TEMPLATE)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    served = port(findings)
    if served is None:
        _without_answers(folder / "tests" / "checks.py")
    _task_toml(folder / "task.toml", name, author, findings)
    files = {
        "instruction.md": _instruction(source, findings, served),
        "environment/Dockerfile": _dockerfile(findings),
        "repo.toml": proposal.document(source, findings, licence_told),
        "tests/repo.json": _told(source, findings, served),
        **_hints(findings),
    }
    for relative, text in files.items():
        (folder / relative).parent.mkdir(parents=True, exist_ok=True)
        (folder / relative).write_text(text, encoding="utf-8")
    (folder / "environment" / _REPOSITORY).write_bytes(_packed(source.tree))


def _without_answers(checks: Path) -> None:
    """Where no port is known nothing can be asked there."""
    text = checks.read_text(encoding="utf-8").partition("\n\n# What answers at the port.")[0]
    unused = ("from benchflow.bench.line_service", "REQUEST = ")
    kept = [line for line in text.split("\n") if not line.startswith(unused)]
    checks.write_text("\n".join(kept), encoding="utf-8")


def _task_toml(path: Path, name: str, author: str, findings: Findings) -> None:
    import tomlkit

    text: Any = tomlkit.parse(path.read_text(encoding="utf-8"))
    topic, own = name.split("/")
    ours = text["metadata"]["benchflow"]
    text["task"]["name"] = f"benchflow/{own}"
    called = one_line(findings.name.value, 60) if findings.name else own
    about = f": {one_line(findings.about.value, 160)}" if findings.about else ""
    text["task"]["description"] = f"A machine on which {called} runs after power-on{about}"
    if author:
        text["task"]["authors"][0]["name"] = author
    ours["topic"], ours["name"] = topic, own
    path.write_text(tomlkit.dumps(text), encoding="utf-8")


def _instruction(source: Source, findings: Findings, served: Fact | None) -> str:
    called = one_line(findings.name.value, 60) if findings.name else "this project"
    about = f" {_plain(findings.about.value)}" if findings.about else ""
    needed = [kind for kind, signs in sorted(findings.services.items()) if is_needed(signs)]
    lines = [
        f"You are new in the team of **{called}**.{about} Its sources lie in `/app/repository`.",
        "",
        "We need a machine on which it runs: **`/app/out/disk.img`**, a raw disk image.",
        "",
        "- [R1] The machine has a BIOS and nothing else. It starts Linux from this disk alone, with"
        " the console on the first serial port (115200), and root logs in there with the password"
        " `onboard`.",
        "- [R2] The sources lie in `/srv/project`, on ext4, every file of them as it is in"
        " `/app/repository`. What is built or written may lie beside them.",
    ]
    if served:
        lines += [
            f"- [R3] After power-on the project is started by itself, and answers on TCP port"
            f" {served.value} within two minutes. The network card gets its address by DHCP; model"
            " and hardware address differ from machine to machine.",
            "- [R4] The same after the power was cut.",
        ]
    if needed:
        lines += ["", f"It is said to need: {', '.join(needed)}."]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    return one_line(re.sub(r"[\[\]`*_<>|]", "", text), 200).rstrip(".") + "."


def _dockerfile(findings: Findings) -> str:
    names = [_PACKAGES[one] for one, _ in findings.languages.most_common(3) if one in _PACKAGES]
    packages = " ".join(sorted(set(f"{_MACHINE} {' '.join(names)} ca-certificates".split())))
    return f"""FROM debian:bookworm
RUN apt-get update \\
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \\
      {packages} \\
 && apt-get clean && rm -rf /var/lib/apt/lists/*
COPY {_REPOSITORY} /app/{_REPOSITORY}
RUN mkdir -p /app/repository /app/out \\
 && tar -C /app/repository -xzf /app/{_REPOSITORY} && rm /app/{_REPOSITORY}
WORKDIR /app
"""


def _hints(findings: Findings) -> dict[str, str]:
    def rows(*purposes: str) -> str:
        found = [(p, one) for p in purposes for one in findings.best(p)[:4]]
        said = "\n".join(f"- {p}: `{one.value}` ({one.where})" for p, one in found)
        return said or "Nothing in the repository says how."

    where = sorted({one.where.partition(":")[0] for p in ("install", "run", "test")
                    for one in findings.best(p)[:3]})  # fmt: skip
    first = (
        f"Read {', '.join(where)} first." if where else "Read the sources: no document says how."
    )
    return {
        "hints/1.md": first + "\n",
        "hints/2.md": rows("install", "build") + "\n",
        "hints/3.md": rows("run", "test") + "\n",
    }


def _told(source: Source, findings: Findings, served: Fact | None) -> str:
    sources = {
        name: hashlib.sha256(source.tree.bytes_of(name)).hexdigest()
        for name, size in sorted(source.tree.sizes.items())
        if size <= TEXT_MAX and name.isprintable()
    }
    told = {"port": int(served.value) if served else None, "sources": sources}
    return json.dumps(told, indent=1) + "\n"


def _packed(tree: Tree) -> bytes:
    """The readable files as a tar whose bytes depend on them alone."""
    total = sum(size for size in tree.sizes.values() if size <= TEXT_MAX)
    if total > _COPIED_MAX:
        raise UsageError(
            f"the sources are {total >> 20} MiB, {_COPIED_MAX >> 20} are copied at most",
            hint="name a release of its source, or a folder of it",
        )
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(tree.sizes):
            if tree.sizes[name] > TEXT_MAX:
                continue
            data = tree.bytes_of(name)
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o755 if name in tree.executable else 0o644
            archive.addfile(member, io.BytesIO(data))
        for name, target in sorted(tree.links.items()):
            if all(note.where != name for note in tree.refused):
                member = tarfile.TarInfo(name)
                member.type, member.linkname = tarfile.SYMTYPE, target
                archive.addfile(member)
    return gzip.compress(raw.getvalue(), 6, mtime=0)


def _tell(
    told: Callable[[str], None], source: Source, findings: Findings, licence_told: str
) -> None:
    told(f"{source.kind} {source.where}, {len(source.tree.sizes):,} files, {source.pin[:19]}…")
    for purpose, facts in ((p, findings.best(p)) for p in findings.commands):
        best = f"{facts[0].value}  ({facts[0].where})" if facts else "not inferred"
        told(f"  {purpose:<9} {best}")
    served, of = port(findings), licence(findings)
    told(f"  port      {f'{served.value}  ({served.where})' if served else 'not inferred'}")
    kinds = ", ".join(
        kind if is_needed(signs) else f"{kind}?"
        for kind, signs in sorted(findings.services.items())
    )
    told(f"  services  {kinds or 'none seen'}")
    told(f"  licence   {licence_told or (of.value if of else '')}")
    if findings.online:
        first = findings.online[0]
        told(f"  offline   it cannot work: first missing is {first.value}  ({first.where})")
    asked = plural(len(questions(findings)), "thing")
    notes = f", and has {plural(len(findings.notes), 'note')}" if findings.notes else ""
    told(f"asks you {asked}{notes}: see repo.toml")
