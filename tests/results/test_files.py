"""Records are whole or absent, and one process at a time works on a job."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchflow.base.atomic import write_json
from benchflow.results.jobs.lock import JobInUse, hold, is_held
from benchflow.results.safe_files import UnreadableRecord, read_object

HOLDER = """
import sys, time
from pathlib import Path
from benchflow.results.jobs.lock import hold
with hold(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_write_that_fails_leaves_the_old_record_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    write_json(path, {"a": 1})
    with pytest.raises(TypeError):
        write_json(path, {("a", "tuple"): 1})
    assert read_object(path) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["record.json"]


def test_a_full_disk_leaves_the_old_record(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    write_json(path, {"a": 1})
    script = (
        "import resource, signal, sys; from pathlib import Path;"
        "from benchflow.base.atomic import write_json;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        "write_json(Path(sys.argv[1]), {'a': 'x' * 10000})"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True)
    assert "File too large" in done.stderr
    assert read_object(path) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["record.json"]


@pytest.mark.parametrize("text", ['{"a": [1, 2', '{"a": "unfinis', '{"a"', "{", ""])
def test_a_record_that_was_cut_off_is_called_so(tmp_path: Path, text: str) -> None:
    path = tmp_path / "record.json"
    path.write_text(text)
    with pytest.raises(UnreadableRecord, match="cut off in the middle of a write"):
        read_object(path)


def test_a_huge_or_deep_or_absent_record_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text("[" * 100_000)
    with pytest.raises(UnreadableRecord):
        read_object(path)
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UnreadableRecord, match="MiB long"):
        read_object(path)
    with pytest.raises(UnreadableRecord):
        read_object(tmp_path / "absent")


def test_a_second_process_is_refused_and_the_lock_dies_with_its_holder(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert is_held(tmp_path)
        with pytest.raises(JobInUse, match=f"process {holder.pid}"), hold(tmp_path):
            pass
        holder.kill()
    assert not is_held(tmp_path)
    with hold(tmp_path):
        assert is_held(tmp_path)
