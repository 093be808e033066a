"""A user without any privilege gets the same sandbox, from subordinate ids alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import plain_user
import pytest

SCRIPT = """
import json, os, sys
from pathlib import Path
from benchflow.sandbox import Limits, Mount, Sandbox, build, debian, gc, idmap
said = {}
home = Path.home()
context = home / "context"
context.mkdir()
(context / "secret").write_text("of the task")
(context / "secret").chmod(0o600)
(context / "Dockerfile").write_text(
    "FROM debian:bookworm\\nCOPY secret /secret\\nRUN rm -rf /srv && mkdir /srv\\n")
image = build(context)
lent = home / "lent"
lent.mkdir()
with Sandbox.start(image, network="user", limits=Limits(memory_mb=256, pids=99),
                   mounts=[Mount(lent, "/lent", read_only=False)]) as box:
    said["limits"] = box.limits_report()
    said["identity"] = box.exec("id -u; stat -c %u / /etc/shadow").text.split()
    said["map"] = box.exec("cat /proc/self/uid_map").text.split()
    said["nobody"] = box.exec("id -u", user="nobody").text.strip()
    said["secret"] = box.exec("cat /secret").text
    said["apt"] = box.exec("apt-get update && apt-get install -y hello && hello").text[-14:]
    box.exec("mkdir -m 700 /lent/d; echo x > /lent/d/f; chmod 600 /lent/d/f; cp /bin/su /lent/su")
    box.exec("echo closed > /root/f; chmod 400 /root/f")
    box.get("/root/f", home / "f")
    said["got"] = (home / "f").read_text()
    timed = box.exec("setsid sleep 4329 & sleep 4330", timeout=0.5)
    said["timeout"] = [timed.status, timed.timed_out]
    said["left"] = box.exec("grep -l 43 /proc/[0-9]*/cmdline; true").text
    state = box.state
    box.kill()
    box.get("/root/f", home / "f")
    said["got of the dead"] = (home / "f").read_text()
said["lent"] = {str(p.relative_to(lent)): [p.lstat().st_uid, p.lstat().st_mode & 0o7777]
                for p in lent.rglob("*")}
said["state left"] = state.exists() or os.listdir(state.parent)
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Everybody can walk there; the base image in it is kept, since making it takes a minute."""
    path = Path("/var/tmp/benchflow-tests-plain-user")
    path.mkdir(exist_ok=True)
    path.chmod(0o755)
    for leftover in ("context", "lent", "f"):
        target = path / "home" / leftover
        if target.is_dir():
            shutil.rmtree(target)
        target.unlink(missing_ok=True)
    yield path


@pytest.mark.slow
@pytest.mark.needs("root", "sandbox")
def test_a_plain_user_s_sandbox_does_all_that_root_s_does(place: Path) -> None:
    done = plain_user.run(SCRIPT, place, timeout=600)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["identity"] == ["0", "0", "0"] and said["nobody"] == "65534"
    assert said["map"] == ["0", str(plain_user.SUB_BASE), "65536"]
    assert said["secret"] == "of the task" and said["got"] == "closed\n"
    assert said["got of the dead"] == "closed\n"
    assert said["apt"].strip().endswith("Hello, world!")
    assert said["timeout"] == [137, True] and "4329" not in said["left"]
    assert all(text.startswith(("enforced", "not enforced")) for text in said["limits"].values())
    assert {uid for uid, _ in said["lent"].values()} == {plain_user.UID}
    assert set(said["lent"]) == {"d", "d/f", "su"}
    assert not any(mode & 0o6000 for _, mode in said["lent"].values())
    assert said["state left"] == []
