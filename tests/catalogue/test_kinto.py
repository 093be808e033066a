"""onboard/kinto: what is said is what is looked at; what is left out for the ladder is there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.catalogue.checkers import helper, helpers

TASK = Path(__file__).parents[2] / "tasks/onboard/kinto"
FILES = TASK / "solution/files"


def test_the_limits_that_are_said_are_those_that_are_kept() -> None:
    said = (TASK / "instruction.md").read_text()
    checks = (TASK / "tests/checks.py").read_text()
    fixtures = (TASK / "tests/conftest.py").read_text()
    service = helper("onboard/kinto", "service")
    assert "answers on TCP port 8888 within four minutes" in said
    assert (service.PORT, service.READY_SECONDS) == (8888, 240)
    assert (service.ANSWER_SECONDS, service.MAIL_SECONDS) == (120, 60)
    assert "a minute after what it is about" in said
    assert "within four minutes of power-on" in said and "guest.start(240)" in checks
    assert "switches the machine off within two" in said and "power_off(120)" in fixtures
    assert "eight tests take ten minutes" in said and "DRAWN_TESTS, BROKEN = 8, 3" in checks
    assert "of 12,000 small ones" in (TASK / "environment/CHANGE.md").read_text()
    assert "MANY = (10_040, 12_000)" in checks


def test_a_site_s_settings_have_the_names_of_the_shown_ones() -> None:
    shown = re.findall("(?m)^([A-Z_]+)=", (TASK / "environment/settings.env").read_text())
    made = (TASK / "tests/site_data.py").read_text().partition("def settings(")[2]
    assert re.findall('(?m)^            "([A-Z_]+)": ', made) == shown


@pytest.mark.needs("openssl")
def test_a_digest_is_that_of_the_change_request() -> None:
    with helpers("onboard/kinto", "site_data") as loaded:
        site: Any = object.__new__(loaded["site_data"].Site)
        site.digest_key = "key"
        records = [{"id": "b", "x": None}, {"id": "a", "é": [1, "ü"], "d": {"z": 1, "y": 2}}]
        found = site.digest(records)
    signed = '{"d":{"y":2,"z":1},"id":"a","é":[1,"ü"]}\n{"id":"b","x":null}\n'
    sign = ["openssl", "dgst", "-sha256", "-hmac", "key"]
    done = subprocess.run(sign, input=signed.encode(), capture_output=True, check=True)
    assert found == done.stdout.decode().split()[-1]


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("project-test", r"^exec .*"),
        ("run.py", r"^kinto.bucket_create_principals.*"),
        ("run.py", r"core.storage.postgresql"),
        ("run.py", r"core.permission.postgresql"),
        ("run.py", r"core.cache.redis"),
        ("run.py", r"^mail\.password"),
        ("read-settings", r"^umask.*"),
        ("read-settings", r"^umount.*"),
        ("kinto.service", r"^Restart=always"),
        ("run.py", r"^    wait_for\("),
        ("run.py", r"^    import waitress$"),
        ("run.py", r"^    if create_user"),
        ("run.py", r" collection_digest$"),
    ],
)
def test_what_the_oracle_leaves_out_is_there(file: str, pattern: str) -> None:
    assert re.search(pattern, (FILES / file).read_text(), re.MULTILINE)
    assert pattern.rstrip("\\(").removesuffix(".*") in (TASK / "solution/solve.sh").read_text()


def test_what_is_drawn_from_is_whole() -> None:
    told = json.loads((TASK / "tests/upstream.json").read_text())
    wheels = (TASK / "environment/wheels.txt").read_text()
    pinned = dict(re.findall(r"(?m)^([a-z0-9-]+)==(\S+)", wheels))
    assert told["versions"].items() <= pinned.items()
    assert all(name.startswith("tests/") and "::" in name for name in told["tests"])
    assert {name.split("/")[0] for name in told["sources"]} == {"kinto", "kinto-emailer"}


def test_what_breaks_a_run_breaks_what_is_named_and_nothing_else(tmp_path: Path) -> None:
    tests = tmp_path / "kinto/tests"
    tests.mkdir(parents=True)
    cases = "".join(f"    def test_{n}(self):\n        assert self.ready\n\n" for n in "abc")
    (tests / "test_one.py").write_text(
        "import unittest\n\nclass One(unittest.TestCase):\n"
        f"    def setUp(self):\n        self.ready = True\n\n{cases}"
    )
    names = [f"tests/test_one.py::One::test_{n}" for n in "abc"]
    broken = {names[0]: "word0", names[2]: "word2"}
    path = tmp_path / "test_ours.py"
    path.write_text(helper("onboard/kinto", "breaking").breaking(broken))
    ask = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *names, str(path)]
    done = subprocess.run(ask, cwd=tmp_path / "kinto", capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "2 failed, 2 passed" in done.stdout
    assert "word0" in done.stdout and "word2" in done.stdout


def test_a_changed_module_is_found_in_copies_and_in_nothing_else() -> None:
    copied = helper("onboard/kinto", "copied")
    names = [f"kinto/m{n}.py" for n in range(12)]
    told = {"sources": {f"kinto/{n}": "same" for n in names}}
    told["sources"]["kinto-emailer/src/kinto_emailer/__init__.py"] = "same"
    copy = {f"/x/{name}": "same" for name in names} | {"/srv/kinto/kinto/m1.py": "else"}
    assert copied.changed(copy, copy.__getitem__, told) == ""
    copy["/x/kinto/m7.py"] = "else"
    assert copied.changed(copy, copy.__getitem__, told) == "/x/kinto/m7.py"
    plugin = {"/y/kinto_emailer/__init__.py": "else"}
    assert copied.changed(plugin, plugin.__getitem__, told) == "/y/kinto_emailer/__init__.py"
