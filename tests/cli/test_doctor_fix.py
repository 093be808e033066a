"""`benchflow doctor --fix` says what it does, does it, and looks again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests import warm_command

from benchflow.run.doctor.check import Check, State
from benchflow.run.doctor.fix import free_range, steps

sys.path.append(str(Path(__file__).parents[1] / "sandbox"))
import plain_user

#: Stands for Debian's: what it is told to install is there afterwards, and it keeps its words.
APT = """\
#!/bin/sh
echo "$*" >>"${0%/*}/apt.log"
for last; do :; done
case $last in
  update) echo "no such host" >&2; exit 100 ;;
  *slirp4netns*) printf '#!/bin/sh\\necho slirp4netns 1.2.0\\n' >"${0%/*}/slirp4netns"
                 chmod 755 "${0%/*}/slirp4netns" ;;
esac
"""


def tools(folder: Path) -> Path:
    """All that the doctor looks for but slirp4netns; installed or not, these are stand-ins."""
    folder.mkdir()
    for name in ("unshare", "mount", "sh", "touch", "true", "chmod"):
        (folder / name).symlink_to(Path("/usr/bin") / name)
    for name in ("buildah", "mmdebstrap", "bwrap", "newuidmap", "newgidmap"):
        (folder / name).write_text(f"#!/bin/sh\necho {name} 1.0\n")
        (folder / name).chmod(0o755)
    return folder


def doctor(*arguments: str, path: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": str(path)}
    return warm_command.run(["doctor", "--quick", *arguments], env=environment)


def test_missing_packages_are_said_installed_and_looked_at_again(tmp_path: Path) -> None:
    there = tools(tmp_path / "bin")
    (there / "apt-get").write_text(APT)
    (there / "apt-get").chmod(0o755)
    before = doctor(path=there)
    assert before.returncode == 4
    assert before.stdout.endswith("Some of it can be fixed for you: benchflow doctor --fix\n")
    assert not (there / "apt.log").exists()
    done = doctor("--fix", path=there)
    if os.geteuid() == 0:
        update, install = (there / "apt.log").read_text().splitlines()
        assert update == "-q update"
        assert install.startswith("-q -y --no-install-recommends install ")
        assert "slirp4netns" in install.split()
        assert f"  apt-get {install}\n" in done.stderr
        _, again = done.stdout.split("Looked at again:\n")
        assert "ok       slirp4netns        1.2.0" in again
        assert "buildah" not in again, "it was not missing"
    else:
        assert "ask an administrator to run: apt-get" in done.stderr


def test_what_cannot_be_installed_is_said_with_what_apt_said(tmp_path: Path) -> None:
    there = tools(tmp_path / "bin")
    (there / "apt-get").write_text("#!/bin/sh\necho E: Unable to locate package >&2; exit 100\n")
    (there / "apt-get").chmod(0o755)
    done = doctor("--fix", "--json", path=there)
    assert done.returncode == 4
    told = json.loads(done.stdout)
    assert told["fit"] is False
    assert any("install" in step for step in told["fix"])
    if os.geteuid() == 0:
        assert "E: Unable to locate package" in done.stderr


def test_nothing_is_done_where_nothing_is_missing() -> None:
    found = [Check("disk", State.BROKEN, "1 GB free", "make room"), Check("kvm", State.OPTIONAL)]
    assert steps([*found, Check("buildah", State.OK, package="buildah")]) == []


def test_a_module_of_the_kernel_is_loaded() -> None:
    found = Check("sandbox network", State.BROKEN, "has no driver", module="tun")
    assert [str(step) for step in steps([found])] == ["modprobe tun"]


@pytest.mark.parametrize(
    ("table", "first"),
    [
        ("", 100_000),
        ("ann:100000:65536\n", 165_536),
        ("ann:100000:65536\nbob:1000000000:65536\n# no line\n:::\n", 1_000_065_536),
        ("low:10:5\n", 100_000),
    ],
)
def test_a_range_is_nobody_elses(table: str, first: int) -> None:
    assert free_range(table) == (first, first + 65_535)


PLAIN = """
from benchflow.run.doctor import fix, sandbox
found = sandbox.id_maps()
print(found.state.value, found.detail)
for step in fix.steps([found]):
    print(*step.command)
    try:
        fix.apply(step)
    except fix.InfrastructureError as error:
        print(error.message, error.hint, sep=": ")
"""


def test_who_has_no_name_is_given_ranges_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    planned = steps([Check("id maps", State.MISSING)])
    assert [step.command[0] for step in planned] == ["usermod", "usermod"]
    assert {step.command[-1] for step in planned} == {"54321"}


@pytest.mark.needs("root", "sandbox")
def test_a_plain_user_is_given_ranges_of_ids(tmp_path: Path) -> None:
    work = Path(tempfile.mkdtemp(prefix="benchflow-plain-", dir="/tmp"))
    work.chmod(0o755)
    try:
        done = plain_user.run(PLAIN, work, ranges=False)
    finally:
        shutil.rmtree(work)
    assert done.returncode == 0, done.stderr
    state, *said = done.stdout.splitlines()
    assert state == "missing /etc/subuid grants plain no range of 65536 ids"
    commands = [line for line in said if line.startswith("usermod") and ": " not in line]
    assert commands == [
        "usermod --add-subuids 100000-165535 plain",
        "usermod --add-subgids 100000-165535 plain",
    ]
    if not shutil.which("sudo"):
        assert f"ask an administrator to run: {commands[0]}" in done.stdout
    # The commands are usermod's own: it takes them, for a user of another root.
    tables = {
        "passwd": "plain:x:64123:64123::/:/bin/sh\n",
        "group": "plain:x:64123:\n",
        "shadow": "plain:*:19000:0:99999:7:::\n",
        "subuid": "",
        "subgid": "",
    }
    for name, text in tables.items():
        (tmp_path / "etc").mkdir(exist_ok=True)
        (tmp_path / "etc" / name).write_text(text)
    for command in commands:
        usermod, *rest = command.split()
        subprocess.run([f"/usr/sbin/{usermod}", "--prefix", str(tmp_path), *rest], check=True)
    for name in ("subuid", "subgid"):
        assert (tmp_path / "etc" / name).read_text() == "plain:100000:65536\n"
