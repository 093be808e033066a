"""What an exploit may know: every word of the checks, and what the oracle's machine once said."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchflow.results.jobs.evidence import verifier_folders
from benchflow.results.model import Trial
from benchflow.tasks.digest import files_below

_LEAST = 3
_BENCH = Path(__file__).parents[2] / "bench"
_TAKEN = re.compile(r"benchflow\.bench(?:\.(\w+)| import (\([^)]*\)|[^\n]*))")
_LARGEST_FILE = 64 << 10
_FRAME = re.compile(r'\[\\n" "\$\(\((\d+)\+(\d+)\)\)".*?\$\(\((\d+)\+(\d+)\)\)', re.DOTALL)
_PIECE = re.compile(r" __b=(\$__b)?\$\(printf '(.*)\.'\); __b=\$\{__b%\.\}\n", re.DOTALL)
_ESCAPED = re.compile(r"\\([0-7]{3})|%%")


@dataclass(frozen=True)
class Answer:
    """What the oracle's machine answered to a command, and the exit status."""

    command: bytes
    output: str
    status: int


def words(root: Path) -> list[str]:
    """Literals of the checks' Python files and of what they take from `bench`, then the lines of
    their other small text files."""
    folders = [root / "tests", *sorted(root.glob("steps/*/tests"))]
    found: dict[str, None] = {}
    paths = [p for folder in folders if folder.is_dir() for p in files_below(folder)]
    paths += _shared([path for path in paths if path.suffix == ".py"])
    for path in sorted(paths, key=lambda path: path.suffix != ".py"):
        if path.stat().st_size > _LARGEST_FILE:
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        lines = _literals(text) if path.suffix == ".py" else text.splitlines()
        found.update(dict.fromkeys(line for line in lines if len(line.strip()) >= _LEAST))
    return list(found)


def _shared(own: list[Path]) -> list[Path]:
    """Modules of `bench` that some files import, and those that these import."""
    found: dict[Path, None] = {}
    ahead = list(own)
    while ahead:
        text = ahead.pop().read_text(encoding="utf-8", errors="replace")
        taken = " ".join("".join(each) for each in _TAKEN.findall(text))
        names = sorted(set(re.findall(r"\w+", taken)))
        fresh = [path for name in names if (path := _BENCH / f"{name}.py") not in found]
        for path in filter(Path.is_file, fresh):
            found[path] = None
            ahead.append(path)
    return list(found)


def _literals(source: str) -> list[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return source.splitlines()
    texts = (
        node.value.decode("utf-8", "replace") if isinstance(node.value, bytes) else node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )
    return [line for text in texts for line in text.splitlines()]


def console(trial: Trial | None) -> str:
    """All that the first machine of a verification printed, as its recording has it."""
    return "".join(text for kind, text in _events(trial) if kind == "o")


def answers(trial: Trial | None) -> list[Answer]:
    """Commands that the checks ran on a serial shell, with what came back; the first of each.

    Reads the frames that `boot.shell` types: the command by pieces, then sums whose results frame
    its output.
    """
    found: dict[bytes, Answer] = {}
    command, ends, printed = b"", ("", ""), ""
    for kind, text in _events(trial):
        if kind == "o":
            printed += text
            continue
        if ends[1] and (answer := _between(command, ends, printed)):
            found.setdefault(command, answer)
        ends = ("", "")
        if piece := _PIECE.fullmatch(text):
            command = (command if piece[1] else b"") + _typed(piece[2])
        elif frame := _FRAME.search(text):
            numbers = [int(number) for number in frame.groups()]
            ends, printed = (str(numbers[0] + numbers[1]), str(numbers[2] + numbers[3])), ""
    if ends[1] and (answer := _between(command, ends, printed)):
        found.setdefault(command, answer)
    return list(found.values())


def _between(command: bytes, ends: tuple[str, str], printed: str) -> Answer | None:
    text = printed.replace("\r\n", "\n")
    match = re.search(rf"{ends[0]}\[\n(.*?)\n?\]{ends[1]}:(\d+):", text, re.DOTALL)
    return Answer(command, match[1], int(match[2]) & 255) if match else None


def _typed(piece: str) -> bytes:
    return _ESCAPED.sub(lambda m: chr(int(m[1], 8)) if m[1] else "%", piece).encode("latin-1")


def _events(trial: Trial | None) -> Iterator[tuple[str, str]]:
    folders = verifier_folders(trial.path) if trial else []
    casts = [cast for folder, _ in folders for cast in sorted(folder.glob("*console.cast"))]
    for cast in casts[:1]:
        for line in cast.read_text(encoding="utf-8", errors="replace").splitlines()[1:]:
            try:
                _, kind, text = json.loads(line)
            except ValueError:
                continue
            yield str(kind), str(text)
