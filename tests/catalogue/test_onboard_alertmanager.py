"""onboard/alertmanager: what is said is looked at; what the ladder leaves out is there."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import ssl
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from tests.catalogue.checkers import helper, helpers

from benchflow.bench.site_certificates import Authority

TASK = Path(__file__).parents[2] / "tasks/onboard/alertmanager"
FILES = TASK / "solution/files"


def test_the_limits_that_are_said_are_those_that_are_kept() -> None:
    said = (TASK / "instruction.md").read_text()
    checks = (TASK / "tests/checks.py").read_text()
    fixtures = (TASK / "tests/conftest.py").read_text()
    with helpers("onboard/alertmanager", "site_services", "service", "asked") as loaded:
        service, asked = loaded["service"], loaded["asked"]
        assert (service.PORT, service.READY_SECONDS) == (9093, 240)
        assert (service.TOLD_SECONDS, service.LATE_SECONDS) == (60, 120)
        assert asked.TEST_SECONDS == 600
    assert "answers on TCP port 9093 within four minutes" in said
    assert "within four minutes of power-on" in said and "guest.start(240)" in checks
    assert "switches the machine off within two" in said and "power_off(120)" in fixtures
    assert "a minute after they came at the latest" in said and "within two minutes" in said
    assert "ten minutes at most" in said
    assert "fifteen minutes later at most" in said and "BUILD_SECONDS = 900" in fixtures
    assert "30 seconds later after a power cut too" in said and "WRITTEN_SECONDS = 30" in fixtures
    assert "have run for two minutes" in said and "found.rest(120)" in fixtures


def test_a_site_s_settings_have_the_names_of_the_shown_ones() -> None:
    shown = re.findall("(?m)^([A-Z_]+)=", (TASK / "environment/settings.env").read_text())
    made = (TASK / "tests/site_data.py").read_text().partition("def settings(")[2]
    assert re.findall('(?m)^            "([A-Z_]+)": ', made) == shown


def test_what_is_drawn_from_is_whole() -> None:
    told = json.loads((TASK / "tests/upstream.json").read_text())
    assert "go.mod" in told["sources"] and len(told["sources"]) > 400
    for package, names in told["tests"].items():
        assert len(names) >= 3 and f"{package}/" in "".join(told["sources"])
    for broken in told["breaks"]:
        assert len(broken["passes"]) >= 2 and broken["fails"]
        assert {*broken["passes"], *broken["fails"]} == set(told["tests"][broken["package"]])
        assert broken["file"] in told["sources"] and broken["old"] != broken["new"]


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("project-test", r"^exec .*"),
        ("project-build", r"amtool.new"),
        ("configure.py", r'"basic_auth_users"'),
        ("configure.py", r'"Bearer"'),
        ("configure.py", r'"password": told\["TICKET_PASSWORD"\]'),
        ("configure.py", r'^        "tls_config": CA,$'),
        ("configure.py", r'"auth_password"'),
        ("configure.py", r"^CA = {"),
        ("configure.py", r'"target_matchers": .*'),
        ("configure.py", r', signing_key_file="signing.key"'),
        ("configure.py", r"^    os.umask\(0o077\)$"),
        ("configure.py", r'if told.get\("CLUSTER_MAC"\)'),
        ("configure.py", r"maintenance-interval"),
        ("read-settings", r"^umount.*"),
        ("read-settings", r"^exec python3"),
    ],
)
def test_what_the_oracle_leaves_out_is_there(file: str, pattern: str) -> None:
    assert re.search(pattern, (FILES / file).read_text(), re.MULTILINE)


def test_a_signature_is_that_of_the_change_request() -> None:
    with helpers("onboard/alertmanager", "site_services", "asked") as loaded:
        told, asked = loaded["site_services"].Told, loaded["asked"]
        now = str(int(time.time()))
        digits = hmac.new(b"key", now.encode() + b".{}", hashlib.sha256).hexdigest()
        right = {"x-holm-signature": f"t={now},v1={digits}"}
        assert asked.has_signature(told(0, right, b"{}"), "key")
        for headers, key in ((right, "other"), ({}, "key")):
            with pytest.raises(AssertionError):
                asked.has_signature(told(0, headers, b"{}"), key)


def test_a_webhook_takes_the_right_key_over_tls_alone(tmp_path: Path) -> None:
    pytest.importorskip("aiosmtpd")
    services = helper("onboard/alertmanager", "site_services")
    authority = Authority("Holm")
    hook: Any = services.Hook("/audit")
    hook.context = authority.context(tmp_path, "127.0.0.1")
    hook.knows = lambda given: given == "Bearer right"
    hook.start()
    try:
        for key, wanted in (("right", 200), ("wrong", 401)):
            context = ssl.create_default_context(cadata=authority.pem.decode())
            asked = urllib.request.Request(
                f"https://127.0.0.1:{hook.port}/audit",
                data=b'{"alerts": [{"labels": {"alertname": "A"}, "status": "firing"}]}',
                headers={"Authorization": f"Bearer {key}"},
            )
            try:
                with urllib.request.urlopen(asked, context=context) as answer:
                    assert answer.status == wanted
            except urllib.error.HTTPError as error:
                assert error.code == wanted
        assert len(hook.telling("A")) == 1 and hook.refused == 1
        assert threading.active_count() < 50
    finally:
        hook.stop()
