"""Which tests run: what a quick test is held to, and which slow tests a change brings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests import touched
from tests.needs import CHECKS, lacking

pytestmark = pytest.mark.needs("time")  # each starts pytest

ROOT = Path(__file__).parents[2]
CLEAN = """
import os, shutil, subprocess
import pytest

{before}
def test_it():
    {does}
"""


def quick(folder: Path, does: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """`pytest --quick` of one test, with the plugins of these tests."""
    file = folder / "test_one.py"
    file.write_text(CLEAN.format(does=does, before=before))
    options = ["-p", "tests.needs", "--quick", "-q", "--rootdir", str(folder), "-c", "/dev/null"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(file)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("subprocess.run(['qemu-system-x86_64', '--version'])", "started qemu-system-x86_64"),
        ("subprocess.run('qemu-img --help; true', shell=True)", "started qemu-img"),
        ("subprocess.run([shutil.which('apt-get'), 'update'])", "started apt-get"),
        ("os.unshare(os.CLONE_NEWUSER)", "Operation not permitted"),
        ("subprocess.run(['unshare', '--user', 'true'], check=True)", "non-zero exit status"),
        ("os.unshare(os.CLONE_NEWNS)", "Operation not permitted"),
    ],
)
def test_a_quick_test_that_starts_a_machine_or_a_sandbox_fails(
    does: str, said: str, tmp_path: Path
) -> None:
    done = quick(tmp_path, does)
    assert done.returncode == 1, done.stdout
    assert said in done.stdout


def test_who_says_what_it_needs_is_no_quick_test(tmp_path: Path) -> None:
    assert quick(tmp_path, "pass").returncode == 0
    assert quick(tmp_path, "pass", "@pytest.mark.needs('qemu')").returncode == 5
    assert quick(tmp_path, "pass", "@pytest.mark.slow").returncode == 5
    fixture = (
        "from tests.needs import needs\n@pytest.fixture\n@needs('sandbox')\ndef box(): ...\n"
        "@pytest.fixture\ndef within(box): ...\n@pytest.mark.usefixtures('within')"
    )
    assert quick(tmp_path, "pass", fixture).returncode == 5


def test_what_is_missing_is_a_reason_to_skip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert CHECKS["qemu"]() == "needs qemu-system-x86_64, which is not installed"
    assert CHECKS["sandbox"]() == "needs slirp4netns, which is not installed"
    assert "browser" in CHECKS["browser"]()
    assert lacking("no-such-program") == "needs no-such-program, which is not installed"


def test_a_slow_test_depends_on_what_it_imports_and_on_its_task() -> None:
    firmware = touched.sources(ROOT / "tests/boot/test_machine_firmware.py")
    assert "tests/guests.py" in firmware and "tests/boot/conftest.py" in firmware
    assert any(source.startswith("src/benchflow/boot/machine/") for source in firmware)
    assert not any(source.startswith("src/benchflow/gateway/") for source in firmware)
    command = touched.sources(ROOT / "tests/run/test_limits.py")
    assert "src/benchflow/run/" in command
    oracle = touched.sources(ROOT / "tests/catalogue/test_oracles.py", "repair/dead-server")
    assert "tasks/repair/dead-server/" in oracle
    assert not any(source.startswith("tasks/container/") for source in oracle)


def test_git_says_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(touched, "ROOT", tmp_path)
    name = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for arguments in (
        ["init", "-q", "-b", "main"],
        [*name, "commit", "-q", "--allow-empty", "-m", "1"],
        ["checkout", "-q", "-b", "mine"],
    ):
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True)
    for number in (1, 2):
        (tmp_path / f"{number}.txt").touch()
        subprocess.run(["git", "-C", str(tmp_path), "add", "."], check=True)
        subprocess.run(["git", "-C", str(tmp_path), *name, "commit", "-qm", "m"], check=True)
    (tmp_path / "new.txt").touch()
    monkeypatch.delenv("BENCHFLOW_CI_BASE", raising=False)
    assert touched.changed(touched.base()) == {"1.txt", "2.txt", "new.txt"}
    monkeypatch.setenv("BENCHFLOW_CI_BASE", "HEAD~1")
    assert touched.changed(touched.base()) == {"2.txt", "new.txt"}
    assert touched.changed("no-such-commit") == {"new.txt"}
