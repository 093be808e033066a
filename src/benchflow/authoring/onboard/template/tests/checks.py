"""What can be asked of any repository; what this one is for is yours to add."""

import hashlib
import json
from pathlib import Path

from benchflow.bench.line_service import ask
from benchflow.boot import BadDeliverable, Image, milestone

TOLD = json.loads(Path(__file__).with_name("repo.json").read_text())
PASSWORD = "onboard"
REQUEST = "GET / HTTP/1.0\r\n\r"


@milestone("kernel", weight=1, proves=["R1"], title="Linux starts from the disk alone")
def test_kernel_starts(machine):
    machine.boot().expect_kernel()


@milestone("login", weight=1, requires=["kernel"], proves=["R1"], title="Root can log in")
def test_root_can_log_in(machine, nonce):
    word = nonce()
    assert machine.login("root", PASSWORD).run(f"echo {word}").stdout.strip() == word


@milestone("source", weight=2, requires=["login"], proves=["R2"], title="The sources are unchanged")
def test_the_sources_are_as_they_were(machine):
    machine.shutdown()
    image = Image(machine.flatten())
    parts = [*image.partitions(), None]
    roots = [image.ext4(part) for part in parts if image.filesystem(part) == "ext4"]
    root = next((one for one in roots if one.exists("/srv/project")), None)
    assert root, "no ext4 file system of the disk has /srv/project [R2]"
    for name, wanted in TOLD["sources"].items():
        try:
            data = root.read(f"/srv/project/{name}")
        except BadDeliverable:
            raise AssertionError(f"{name} is missing in /srv/project [R2]") from None
        assert hashlib.sha256(data).hexdigest() == wanted, f"{name} was changed [R2]"


# What answers at the port.
@milestone("answers", weight=2, requires=["login"], proves=["R3"], title="It answers")
def test_it_answers_after_power_on(served):
    served.boot()
    assert ask(served, TOLD["port"], REQUEST, seconds=120)


@milestone("power-cut", weight=2, requires=["answers"], proves=["R4"], title="And again")
def test_it_answers_after_a_power_cut(served):
    served.power_cut()
    served.boot()
    assert ask(served, TOLD["port"], REQUEST, seconds=120)
