"""onboard/mosquitto: what is said is looked at; what the ladder leaves out is there."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from pathlib import Path

import pytest
from tests.catalogue.checkers import helper, helpers

TASK = Path(__file__).parents[2] / "tasks/onboard/mosquitto"
FILES = TASK / "solution/files"


def test_the_limits_that_are_said_are_those_that_are_kept() -> None:
    said = (TASK / "instruction.md").read_text()
    checks = (TASK / "tests/checks.py").read_text()
    fixtures = (TASK / "tests/conftest.py").read_text()
    service = (TASK / "tests/service.py").read_text()
    assert "PORT, NAME = 8883" in service and "on TCP port 8883" in said
    assert "READY_SECONDS = 240" in service and "answers within four minutes" in said
    assert "TOLD_SECONDS, LATE_SECONDS = 60, 120" in service
    assert "within a minute" in said and said.count("within two minutes") == 2
    assert "within four minutes of power-on" in said and "guest.start(240)" in checks
    assert "switches the machine off within two" in said and "power_off(120)" in fixtures
    assert helper("onboard/mosquitto", "asked").TEST_SECONDS == 600
    assert "ten minutes later at most" in said
    assert "fifteen minutes later at most" in said and "BUILD_SECONDS = 900" in fixtures
    assert "30 seconds later after a power cut too" in said and "WRITTEN_SECONDS = 30" in fixtures
    assert "up to 65,536 bytes" in said and "(65_537, 90_000, 65_536)" in checks
    assert "at least 1,500 messages" in said and "drawn(), 1500" in checks


def test_a_site_s_settings_have_the_names_of_the_shown_ones() -> None:
    shown = re.findall("(?m)^([A-Z_]+)=", (TASK / "environment/settings.env").read_text())
    made = (TASK / "tests/site_data.py").read_text().partition("def settings(")[2]
    assert re.findall('(?m)^            "([A-Z_]+)": ', made) == shown
    roles = {line.split(":")[1] for line in (TASK / "environment/users").read_text().splitlines()}
    assert roles == {"operator", "station", "viewer"}


def test_what_is_drawn_from_is_whole() -> None:
    told = json.loads((TASK / "tests/upstream.json").read_text())
    sources, tests = told["sources"], told["tests"]
    assert "src/mosquitto.c" in sources and len(sources) > 700 and len(tests) > 60
    for name in tests:
        assert f"test/broker/{name}.py" in sources and not name.startswith("08-")
    for broken in told["breaks"]:
        assert len(broken["passes"]) >= 2 and broken["fails"]
        assert {*broken["passes"], *broken["fails"]} <= set(tests)
        assert broken["file"] in sources and broken["old"] != broken["new"]


def test_a_changed_source_tells_a_sum() -> None:
    asked = helper("onboard/mosquitto", "asked")
    text = f"#include <stdio.h>\n\t{asked.VERSION_LINE}\n"
    told = asked.telling_source(text, "word")
    assert "VERSION" not in told and 'strlen("word")' in told and "openssl/sha.h" in told


def test_seals_are_those_of_the_change_request() -> None:
    pytest.importorskip("paho")
    with helpers("onboard/mosquitto", "mqtt", "site_data") as loaded:
        site = loaded["site_data"].Site.__new__(loaded["site_data"].Site)
        site.seal_key = "key"
        said = dict(site.seal("commands/a", b"\xff", seconds=17))
        digits = hmac.new(b"key", b"commands/a\n17\n\xff", hashlib.sha256).hexdigest()
        assert said == {"seal-time": "17", "seal": digits}


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("project-test", r"^for name; do"),
        ("configure.py", r'"allow_anonymous false"'),
        ("configure.py", r'"acl_file '),
        ("configure.py", r'"max_queued_messages '),
        ("configure.py", r'"persistence true"'),
        ("project-build", r"^replace src"),
        ("configure.py", r'"plugin_opt'),
        ("configure.py", r'f"plugin {PLUGIN}"'),
        ("configure.py", r'f"remote_password .*"'),
        ("configure.py", r'"notifications false"'),
        ("configure.py", r'"cleansession false"'),
        ("configure.py", r'"autosave_interval 10"'),
        ("read-settings", r"^umount.*"),
        ("read-settings", r"^python3"),
        ("mosquitto.service", r"^ExecStart="),
        ("project-build", r"^in_tree"),
    ],
)
def test_what_the_oracle_leaves_out_is_there(file: str, pattern: str) -> None:
    assert re.search(pattern, (FILES / file).read_text(), re.MULTILINE)
