"""Draws one trial as a picture: the ladder that fills up beside the console of the machine.

    .venv/bin/python docs/pictures/draw.py JOB/TRIAL -o docs/pictures/first-run.svg

One SVG for light and dark pages, without scripts; it stands still for those who want less motion.
What is shown is what the verifier recorded: milestones.json, progress.jsonl and the first console.
"""

from __future__ import annotations

import argparse
import json
from html import escape
from pathlib import Path

from benchflow.base.text import printable
from benchflow.results.recording import read

WIDTH, ROW, TOP, LEFT = 880, 24, 64, 330
COLUMNS, MOST = 66, 90
STYLE = """
.bg{fill:#ffffff}.frame{fill:none;stroke:#d0d7de}.text{fill:#1f2328}.dim{fill:#59636e}
.ok{fill:#1a7f37}.bad{fill:#cf222e}.screen{fill:#0d1117}.out{fill:#c9d1d9}
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.title{font-weight:600}
@media (prefers-color-scheme:dark){
.bg{fill:#0d1117}.frame{stroke:#30363d}.text{fill:#e6edf3}.dim{fill:#9198a1}
.ok{fill:#3fb950}.bad{fill:#f85149}.screen{fill:#010409}}
g{animation-duration:16s;animation-timing-function:step-end;animation-iteration-count:infinite}
@media (prefers-reduced-motion:reduce){g{animation:none!important}}
"""


def draw(trial: Path) -> str:
    """The SVG of a finished trial of ours. Raises OSError or ValueError where it is none."""
    verifier = trial / "verifier"
    told = json.loads((verifier / "milestones.json").read_text(encoding="utf-8"))
    milestones = told["milestones"]
    ends = _ends(verifier / "progress.jsonl")
    total = max([*ends.values(), 1.0])
    height = TOP + ROW * max(len(milestones), 10) + 40
    passed = sum(each["status"] == "passed" for each in milestones)
    verdict = "resolved" if told["resolved"] else "failed"
    summary = (
        f"{told['task']['name']}: {passed} of {len(milestones)} milestones, {verdict}, "
        f"after {told['seconds']:.0f} seconds of verification"
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(summary)}</title><style>{STYLE}</style>",
        f'<rect class="bg" width="{WIDTH}" height="{height}" rx="8"/>',
        f'<rect class="frame" x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        f'<text class="text title" x="20" y="32">{escape(told["task"]["name"])}</text>',
        f'<text class="dim" x="{LEFT}" y="32">console of the machine that was built</text>',
    ]
    for n, each in enumerate(milestones):
        parts += _milestone(each, TOP + ROW * n, ends.get(each["id"], total) / total)
    parts += _console(_first_console(verifier), height)
    parts.append(
        f'<text class="{"ok" if told["resolved"] else "bad"} title" x="20" y="{height - 14}">'
        f"{escape(f'{verdict}, {passed} of {len(milestones)}')}</text></svg>"
    )
    return "\n".join(parts) + "\n"


def _milestone(each: dict[str, str], y: int, share: float) -> list[str]:
    mark, kind = ("●", "ok") if each["status"] == "passed" else ("○", "bad")
    name = escape(each["id"])
    frames = f"@keyframes m{y}{{0%{{opacity:0}}{85 * share:.1f}%{{opacity:1}}}}"
    return [
        f'<text class="dim" x="20" y="{y + 14}">○ {name}</text>',
        f'<style>{frames}</style><g style="animation-name:m{y}">'
        f'<rect class="bg" x="16" y="{y}" width="{LEFT - 30}" height="20"/>'
        f'<text class="{kind}" x="20" y="{y + 14}">{mark}</text>'
        f'<text class="text" x="35.8" y="{y + 14}">{name}</text></g>',
    ]


def _console(lines: list[str], height: int) -> list[str]:
    inner = height - TOP - 24
    shown = (inner - 16) // 18
    steps = max(len(lines) - shown, 0)
    frames = "".join(
        f"{85 * n / max(steps, 1):.1f}%{{transform:translateY({-18 * n}px)}}"
        for n in range(steps + 1)
    )
    rows = [
        f'<text class="out" x="{LEFT + 12}" y="{TOP + 10 + 18 * n}">{escape(line)}</text>'
        for n, line in enumerate(lines)
    ]
    return [
        f'<rect class="screen" x="{LEFT}" y="{TOP - 8}" width="{WIDTH - LEFT - 20}" '
        f'height="{inner}" rx="6"/>',
        f'<clipPath id="screen"><rect x="{LEFT}" y="{TOP - 5}" width="{WIDTH - LEFT - 24}" '
        f'height="{inner - 6}"/></clipPath>',
        f'<style>@keyframes console{{{frames}}}</style><g clip-path="url(#screen)">'
        f'<g style="animation-name:console;transform:translateY({-18 * steps}px)">'
        f"{''.join(rows)}</g></g>",
    ]


def _first_console(verifier: Path) -> list[str]:
    """Lines of the machine that was recorded first, thinned out to what a picture can show."""
    for path in sorted(verifier.rglob("*.console.cast"), key=lambda path: path.stat().st_mtime):
        recording = read(path)
        lines = [printable(text, COLUMNS) for _, text in recording.lines] if recording else []
        lines = [line for line in lines if line.strip()]
        if lines:
            step = max(len(lines) // MOST, 1)
            return lines[::step][:MOST]
    return ["(no console was recorded)"]


def _ends(path: Path) -> dict[str, float]:
    """Milestone → seconds from the first line of the progress to its end."""
    events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    return {str(e["id"]): float(e["t"]) for e in events if e["event"] == "milestone"}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("trial", type=Path, help="folder of a finished trial")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the SVG to write")
    options = parser.parse_args()
    try:
        options.output.write_text(draw(options.trial), encoding="utf-8")
    except (OSError, ValueError, KeyError) as error:
        parser.error(f"{options.trial}: no finished trial that can be drawn ({error})")
    print(options.output)


if __name__ == "__main__":
    main()
