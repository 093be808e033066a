"""A review as text and as one HTML page. Everything in it is escaped."""

from __future__ import annotations

from html import escape

from benchflow.authoring.gate import GateResult
from benchflow.authoring.review import ExploitRow, Review, VariantRow
from benchflow.base.text import printable

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --good: #2a7d46; --bad: #b3372f; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
table { border-collapse: collapse; } td, th { text-align: left; vertical-align: top;
  padding: .25rem 1rem .25rem 0; border-bottom: 1px solid var(--line); }
pre { overflow-x: auto; padding: 1rem; border: 1px solid var(--line); font-size: 13px; }
pre.letter { white-space: pre-wrap; font: inherit; }
.passed { color: var(--good); } .failed, .error, .open { color: var(--bad); }
"""


def text(review: Review) -> str:
    """The review for a terminal; control characters of the task's own files are removed."""
    task = review.task
    lines = [f"{task.name} {task.version}", task.description, ""]
    lines += [f"  {name:<14} {value}" for name, value in review.facts]
    lines += ["", "Gates"]
    for name, result in review.gates.items():
        lines.append(f"  {_status(result):<14} {name:<12} {_summary(result)}")
        lines += [f"  {'':<14} - {finding}" for finding in (result.findings if result else ())]
    lines += ["", "Exploits"] + [f"  {_exploit(row)}" for row in review.exploits]
    lines += ["", "Variants"] + [f"  {_variant(row)}" for row in review.variants]
    lines += ["", "Coverage", *review.matrix, "", "Instruction", review.instruction]
    return printable("\n".join(lines), 1_000_000)


def html(review: Review) -> str:
    """The review as one self-contained page without scripts."""
    task = review.task
    facts = "".join(_row(name, value) for name, value in review.facts)
    gates = "".join(_gate(name, result) for name, result in review.gates.items())
    exploits = "".join(
        _row(
            row.name + (" (common)" if row.common else ""),
            _gained(row),
            ", ".join(row.allowed) or "nothing",
            row.why,
        )
        for row in review.exploits
    )
    variants = "".join(
        _row(row.name, row.what, row.came_to or "not tried yet") for row in review.variants
    )
    matrix = escape("\n".join(review.matrix))
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Review of {escape(task.name)} {escape(task.version)}</title>
<style>{_STYLE}</style>
<h1>{escape(task.name)} {escape(task.version)}</h1>
<p>{escape(task.description)}</p>
<table>{facts}</table>
<h2>Gates</h2>
<p>{review.open_gates} of {len(review.gates)} are open.</p>
<table><tr><th>gate<th>result<th>what it saw</tr>{gates}</table>
<h2>Exploits</h2>
<table><tr><th>exploit<th>gained<th>may gain<th>why</tr>{exploits}</table>
<h2>Variants</h2>
<table><tr><th>honest other solution<th>what it does otherwise<th>came to</tr>{variants}</table>
<h2>Coverage</h2>
<pre>{matrix}</pre>
<h2>Instruction</h2>
<pre class="letter">{escape(review.instruction)}</pre>
</html>
"""


def _row(*cells: str) -> str:
    return "<tr>" + "".join(f"<td>{escape(cell)}" for cell in cells) + "</tr>\n"


def _gate(name: str, result: GateResult | None) -> str:
    kind = result.status.value if result else "open"
    findings = "".join(f"<li>{escape(finding)}" for finding in result.findings) if result else ""
    found = f"<ul>{findings}</ul>" if findings else ""
    status = f'<td class="{escape(kind)}">{escape(_status(result))}'
    return f"<tr><td>{escape(name)}{status}<td>{escape(_summary(result))}{found}</tr>\n"


def _status(result: GateResult | None) -> str:
    return result.status.value if result else "not run yet"


def _summary(result: GateResult | None) -> str:
    return result.summary if result else ""


def _gained(row: ExploitRow) -> str:
    if row.gained is None:
        return "not tried yet"
    return ", ".join(row.gained) or "nothing"


def _exploit(row: ExploitRow) -> str:
    allowed = f"; may gain {', '.join(row.allowed)}: {row.why}" if row.allowed else ""
    common = " (common)" if row.common else ""
    return f"{row.name}{common}: gained {_gained(row)}{allowed}"


def _variant(row: VariantRow) -> str:
    return f"{row.name}: {row.came_to or 'not tried yet'}; {row.what}"
