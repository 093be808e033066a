"""Dockerfiles as people write them, in the words of the builder that is here.

buildah of Debian 12 knows no here-documents, which Docker has known since 2021, no SHELL (in images
of its own form), and some flags that change nothing of what an image holds. All are written in
older words before it builds; for what it cannot do at all, the first words say so, and what to
write instead.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from benchflow.errors import TaskError
from benchflow.sandbox.image.debian_base import debian_suite

#: Where the bodies of here-documents lie in the build context.
FOLDER = ".benchflow-heredocs"
_HEREDOC = re.compile(r"(?<![<\w\\])<<(-?)\s*(?:\"(\w[\w.-]*)\"|'(\w[\w.-]*)'|(\w[\w.-]*))")
#: What the builder has no word for, and what says the same.
_MISSING = {
    ("COPY", "--parents"): "write a COPY for each folder",
    ("COPY", "--exclude"): "name what is left out in .dockerignore",
    ("ADD", "--exclude"): "name what is left out in .dockerignore",
    ("ADD", "--checksum"): "write RUN curl … && echo 'SUM FILE' | sha256sum -c",
    ("ADD", "--keep-git-dir"): "write RUN git clone …",
    ("ADD", "--unpack"): "write RUN tar -xf …",
    ("RUN", "--security"): "run the task with --sandbox docker",
    ("RUN", "--device"): "run the task with --sandbox docker",
}
#: What changes nothing of the image.
_NEEDLESS = {("COPY", "--link"), ("ADD", "--link"), ("RUN", "--network")}


#: What Docker calls the machines of uname(2), and what a FROM may say of the one that builds.
_ARCHITECTURES = {"x86_64": ("amd64", "x86_64"), "aarch64": ("arm64", "aarch64")}
_SHELL = ("/bin/sh", "-c")


@dataclass(frozen=True)
class Recipe:
    """A Dockerfile that the builder can read, and files to lay into its context, by path."""

    text: str
    files: dict[str, str] = field(default_factory=dict)


@dataclass
class _Instruction:
    number: int
    word: str
    rest: str
    bodies: list[tuple[str, str, bool]]  # name, text, whether variables are put in


def adapted(text: str, name: str = "Dockerfile") -> Recipe:
    """The same Dockerfile in the builder's words, word for word where it knows them all. Raises
    TaskError for what it cannot do."""
    lines: list[str] = []
    files: dict[str, str] = {}
    shell = [*_SHELL]
    is_same = True
    for each in _instructions(text, name):
        if isinstance(each, str):
            lines.append(each)
            continue
        if each.word in ("SHELL", "FROM"):
            shell = (_words(each.rest) if each.word == "SHELL" else []) or [*_SHELL]
        given = each.rest
        each.rest = (
            _named_here(each, name) if each.word == "FROM" else _with_known_flags(each, name)
        )
        in_shell = each.word == "RUN" and shell != [*_SHELL] and _is_for_a_shell(each)
        is_same = is_same and each.rest == given and not each.bodies and not in_shell
        if in_shell and not each.bodies:
            lines.append(_in_shell(each, shell))
        elif not each.bodies:
            lines.append(f"{each.word} {each.rest}")
        elif each.word == "RUN":
            lines.append(_run(each, shell))
        else:
            lines += _copy(each, shell, files)
    return Recipe(text) if is_same else Recipe("\n".join(lines) + "\n", files)


def _instructions(text: str, name: str) -> list[str | _Instruction]:
    """Comments and blank lines as they are; instructions with what continues them."""
    found: list[str | _Instruction] = []
    source = iter(enumerate(text.splitlines(), 1))
    for number, raw in source:
        if not raw.strip() or raw.lstrip().startswith("#"):
            found.append(raw)
            continue
        whole = raw.strip()
        while whole.endswith("\\"):
            _, more = next(source, (0, ""))
            if more.lstrip().startswith("#") or not more.strip():
                whole = whole if more.strip() or more else whole[:-1]
                continue
            whole = f"{whole[:-1]} \\\n{more.rstrip()}"
        word, _, rest = whole.partition(" ")
        one = _Instruction(number, word.upper(), rest.strip(), [])
        if one.word in ("RUN", "COPY", "ADD"):
            for match in _HEREDOC.finditer(rest):
                one.bodies.append(_body(match, source, f"{name}:{number}"))
        found.append(one)
    return found


def _body(
    match: re.Match[str], source: Iterator[tuple[int, str]], where: str
) -> tuple[str, str, bool]:
    end = match[2] or match[3] or match[4]
    kept: list[str] = []
    for _, line in source:
        plain = line.lstrip("\t") if match[1] else line
        if plain == end:
            return end, "".join(f"{each}\n" for each in kept), match[4] is not None
        kept.append(plain)
    raise TaskError(f"{where}: the here-document does not end", hint=f"write {end} on a line alone")


def _words(rest: str) -> list[str]:
    try:
        found = json.loads(rest)
    except ValueError:
        return []
    return [str(word) for word in found] if isinstance(found, list) else []


def _named_here(each: _Instruction, name: str) -> str:
    """FROM a plain Debian, by the name that its base has here: people write it in many ways. Of
    which machine it is need not be said of this one, and nobody here runs another."""
    parts = each.rest.split()
    for flag in _leading_flags(each.rest):
        key, _, wanted = flag.partition("=")
        if key == "--platform" and "$" not in wanted:
            _refuse_another_machine(wanted, f"{name}:{each.number}")
            parts.remove(flag)
    for at, part in enumerate(parts):
        if not part.startswith("--"):
            suite = debian_suite(part)
            if suite is not None and part.startswith(("docker.io/", "index.docker.io/")):
                parts[at] = f"docker.io/library/debian:{suite}"
            break
    return " ".join(parts)


def _refuse_another_machine(wanted: str, where: str) -> None:
    machine = platform.machine()
    system, _, architecture = wanted.lower().partition("/")
    here = _ARCHITECTURES.get(machine, (machine,))
    if system != "linux" or (architecture and architecture.split("/")[0] not in here):
        raise TaskError(
            f"{where}: FROM --platform={wanted}: images are built and run on this machine, "
            f"which is {machine}",
            hint="leave --platform out",
        )


def _is_for_a_shell(each: _Instruction) -> bool:
    command = each.rest
    for flag in _leading_flags(each.rest):
        command = command.replace(flag, "", 1)
    return not _words(command.strip())


def _in_shell(each: _Instruction, shell: list[str]) -> str:
    """A RUN after SHELL: its words are that shell's."""
    flags = _leading_flags(each.rest)
    command = each.rest
    for flag in flags:
        command = command.replace(flag, "", 1)
    return " ".join(["RUN", *flags, json.dumps([*shell, command.strip()], ensure_ascii=False)])


def _with_known_flags(each: _Instruction, name: str) -> str:
    kept, rest = [], each.rest
    flags = _leading_flags(rest)
    for flag in flags:
        known = (each.word, flag.partition("=")[0])
        if known in _MISSING:
            raise TaskError(
                f"{name}:{each.number}: the builder here has no {each.word} {known[1]}",
                hint=_MISSING[known],
            )
        rest = rest.replace(flag, "", 1).lstrip()
        kept += [flag] if known not in _NEEDLESS else []
    return each.rest if len(kept) == len(flags) else " ".join([*kept, rest])


def _leading_flags(rest: str) -> list[str]:
    found = []
    for part in rest.split():
        if not part.startswith("--"):
            break
        found.append(part)
    return found


def _run(each: _Instruction, shell: list[str]) -> str:
    flags = _leading_flags(each.rest)
    command = each.rest
    for flag in flags:
        command = command.replace(flag, "", 1)
    command = command.strip()
    (end, body, _) = each.bodies[0]
    if _HEREDOC.fullmatch(command) and len(each.bodies) == 1:
        script = body
        if body.startswith("#!"):
            # The kernel reads the first line of a file; the shell makes one.
            script = (
                f'file=$(mktemp) && cat > "$file" <<\'{end}\' && chmod +x "$file" && "$file" '
                f'&& rm "$file"\n{body}{end}\n'
            )
    else:
        script = command + "\n" + "".join(f"{text}{name}\n" for name, text, _ in each.bodies)
    exec_form = json.dumps([*shell, script], ensure_ascii=False)
    return " ".join(["RUN", *flags, exec_form])


def _copy(each: _Instruction, shell: list[str], files: dict[str, str]) -> list[str]:
    flags = _leading_flags(each.rest)
    words = [word for word in each.rest.split() if not word.startswith("--")]
    target = words[-1]
    others = [word for word in words[:-1] if not _HEREDOC.match(word)]
    lines = [" ".join([each.word, *flags, *others, target])] if others else []
    for name, text, puts_in in each.bodies:
        place = f"{target}{name}" if target.endswith("/") else target
        if puts_in and "$" in text:
            lines.append(_written(text, place, flags, shell))
        else:
            path = f"{FOLDER}/{len(files)}/{name}"
            files[path] = text
            lines.append(" ".join([each.word, *flags, path, place]))
    return lines


def _written(text: str, place: str, flags: list[str], shell: list[str]) -> str:
    """A body with variables, written by the shell, which knows them and puts in nothing else."""
    safe = text.replace("\\", "\\\\").replace("\\\\$", "\\$").replace("`", "\\`")
    safe = safe.replace("$(", "\\$(")
    end = "BENCHFLOW_HEREDOC"
    script = f'mkdir -p "$(dirname {place})" && cat > {place} <<{end}\n{safe}{end}\n'
    for flag in flags:
        verb, _, value = flag.removeprefix("--").partition("=")
        if verb in ("chmod", "chown"):
            script += f"{verb} {value} {place}\n"
    return "RUN " + json.dumps([*shell, script], ensure_ascii=False)
