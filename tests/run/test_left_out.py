"""What of an artifact did not cross is named: in the table, in the details, on the trial's page."""

from __future__ import annotations

from pathlib import Path

import plain
import pytest
from plain import benchflow, run_json

from benchflow.results.collect import collect
from benchflow.results.jobs import left_out
from benchflow.sandbox.trial_files import leading_out
from benchflow.site.pages.trial import _why

KINDS = {
    "a link": ("echo done > /srv/o; ln -s /srv/o /app/out.txt", "/app/out.txt (a link or special"),
    "a fifo": ("mkfifo /app/out.txt", "/app/out.txt (a link or special"),
    "a circle": ("ln -s out.txt /app/out.txt", "/app/out.txt (a link or special"),
}


@pytest.mark.needs("sandbox")
@pytest.mark.parametrize("kind", [*KINDS])
def test_an_artifact_that_is_no_file_is_named(kind: str, tmp_path: Path) -> None:
    command, said = KINDS[kind]
    plain.separate(tmp_path / "task", solve=f"#!/bin/bash\n{command}\n")
    job = run_json("run", "task", "--job-name", "mine", cwd=tmp_path)
    (trial,) = job["trials"]
    assert trial["verdict"] == "failed"
    assert f"left out of the hand-over: {said}" in trial["cause_message"]
    assert said in benchflow("results", "mine", "--details", cwd=tmp_path).stdout
    assert said in benchflow("results", "mine", cwd=tmp_path).stdout
    (record,) = collect([tmp_path / "jobs" / "mine"]).records
    assert said in str([*_why(record)])


@pytest.mark.needs("sandbox")
def test_links_and_special_files_in_a_folder_are_named_and_the_rest_crosses(
    tmp_path: Path,
) -> None:
    solve = (
        "#!/bin/bash\nmkdir -p /app/out /srv/o; cd /app/out; echo done > /srv/o/res\n"
        "ln -s /srv/o/res res; mkfifo pipe; echo x > file\n"
        "ln -s file near; ln -s /app/out/file far\n"
    )
    task = plain.separate(
        tmp_path / "task",
        solve=solve,
        test="#!/bin/bash\ncd /app/out && [ -e file ] && [ -e near ] && [ -e far ] && [ -e res ]\n"
        "echo $((1 - $?)) > /logs/verifier/reward.txt\n",
    )
    config = task / "task.toml"
    config.write_text(config.read_text().replace('["/app/out.txt"]', '["/app/out"]'))
    (trial,) = run_json("run", "task", cwd=tmp_path)["trials"]
    assert trial["verdict"] == "failed"
    message = trial["cause_message"]
    assert "/app/out/pipe (a device, fifo or socket)" in message
    assert "/app/out/res (a link to /srv/o/res, which does not cross with it)" in message
    assert "near" not in message
    assert "far" not in message


def test_what_leads_out_of_a_tree_is_found_without_following_it(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name, target in {
        "a/up": "../..",
        "a/b/in": "../file",
        "a/b/own": "/out/a/file",
        "a/b/abs": "/etc/passwd",
        "a/b/out": "../../../x",
    }.items():
        (tmp_path / name).symlink_to(target)
    found = leading_out(tmp_path, "/out/")
    assert [path for path, _ in found] == ["/out/a/b/abs", "/out/a/b/out", "/out/a/up"]


def test_thousands_are_counted_and_not_listed(tmp_path: Path) -> None:
    left_out.add(tmp_path, [(f"/app/{n}", "a device, fifo or socket") for n in range(1000)])
    left_out.add(tmp_path, [("/app/0", "again"), ("/srv/x", "a link")])
    said = left_out.told(tmp_path)
    assert said.endswith("and 998 more")
    assert len((tmp_path / left_out.NAME).read_text()) < 5000
    assert left_out.told(tmp_path / "nowhere") == ""
    (tmp_path / left_out.NAME).write_text('{"left_out": [7, {"path": ["x"]}], "more": "many"}')
    assert left_out.told(tmp_path).startswith("left out of the hand-over")
