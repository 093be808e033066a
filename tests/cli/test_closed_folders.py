"""A plain user in folders that may not be read or written: a clear word, the documented status."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from tests.run import plain

sys.path.append(str(Path(__file__).parents[1] / "sandbox"))
import plain_user

pytestmark = pytest.mark.needs("sandbox")

SCRIPT = """
import json, os, subprocess, sys
os.chdir({folder!r})
command = [sys.executable, "-m", "benchflow.cli.app"]
found = {{}}
for line in {lines!r}:
    name, _, arguments = line.partition(": ")
    env = dict(os.environ)
    words = arguments.split()
    while "=" in words[0]:
        key, _, value = words.pop(0).partition("=")
        env[key] = value
    done = subprocess.run([*command, *words], capture_output=True, text=True, env=env)
    found[name] = [done.returncode, done.stdout + done.stderr]
print(json.dumps(found))
"""
#: name: command line → status, what is said
LINES = {
    "unreadable jobs: results --jobs-dir closed": (2, "is not readable"),
    "unreadable source: report closed": (2, "is not readable"),
    "unreadable task: tasks validate secret": (3, "chmod a+r"),
    "unwritable jobs: run good --jobs-dir locked/jobs": (4, "locked/jobs: Permission denied"),
    "unwritable home: BENCHFLOW_HOME=locked/home run good": (4, "locked/home: Permission denied"),
    "unwritable table: export list.jsonl -o locked/x": (2, "locked/x"),
}


@pytest.mark.needs("root", "sandbox")
def test_folders_that_are_closed_to_a_user_are_named() -> None:
    with tempfile.TemporaryDirectory(prefix="benchflow-closed-", dir="/var/tmp") as name:
        work = Path(name)
        work.chmod(0o755)
        folder = work / "own"
        plain.shared(folder / "good")
        plain.shared(folder / "secret")
        line = {"agent": "a", "task": "t", "trial": "1", "resolved": True}
        (folder / "list.jsonl").write_text(json.dumps(line))
        (folder / "closed").mkdir()
        (folder / "locked").mkdir()
        for path in (folder, *folder.rglob("*")):
            shutil.chown(path, plain_user.UID, plain_user.UID)
        (folder / "secret" / "tests" / "test.sh").chmod(0)
        (folder / "closed").chmod(0)
        (folder / "locked").chmod(0o555)
        script = SCRIPT.format(folder=str(folder), lines=[*LINES])
        done = plain_user.run(script, work, timeout=300)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
    wrong = {
        line: told
        for line, (status, said) in LINES.items()
        if (told := found[line.partition(": ")[0]])[0] != status or said not in told[1]
    }
    assert wrong == {}
