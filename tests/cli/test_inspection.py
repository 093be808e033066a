"""`report` and `compare` print what finished trials say, and name what they could not read."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from benchflow.cli.app import benchflow


def trials(path: Path) -> Path:
    rows = [
        {"agent": agent, "model": "m", "task": f"t{task}", "trial": f"{task}.{n}", "resolved": won}
        for agent, won in (("strong", True), ("weak", False))
        for task in range(10)
        for n in range(2)
    ]
    rows[0]["resolved"], rows[-1]["resolved"] = False, True
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\nnot json\n")
    return path


def test_report_and_its_json_agree_and_name_the_broken_line(tmp_path: Path) -> None:
    source = str(trials(tmp_path / "a.jsonl"))
    text = CliRunner().invoke(benchflow, ["report", source])
    assert text.exit_code == 0
    assert "strong m beats weak m" in text.output
    assert "line 41" in text.output
    data = json.loads(CliRunner().invoke(benchflow, ["report", source, "--json"]).stdout)
    assert [entry["who"] for entry in data["entries"]] == ["strong m", "weak m"]
    (problem,) = data["problems"]
    assert problem["path"] == source and "line 41" in problem["message"]


def test_compare_names_both_and_refuses_a_stranger(tmp_path: Path) -> None:
    source = str(trials(tmp_path / "a.jsonl"))
    good = CliRunner().invoke(benchflow, ["compare", "weak m", "strong m", source])
    assert "strong m beats weak m by 90.0 points" in good.output
    bad = CliRunner().invoke(benchflow, ["compare", "nobody", "strong m", source])
    assert bad.exit_code != 0
