"""repair/dead-server: what the verifier knows of the server is what the environment builds."""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

TASK = Path(__file__).parents[2] / "tasks/repair/dead-server"
OWNER = TASK / "tests/owner"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The owner's data as the environment's own script makes them."""
    target = tmp_path_factory.mktemp("data")
    script = TASK / "environment/server/owner_data.py"
    subprocess.run([sys.executable, "-B", script, target], check=True)
    return target


def sums(name: str) -> dict[str, str]:
    rows = (line.split("  ") for line in (OWNER / name).read_text().splitlines())
    return {path: digest for digest, path in rows}


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", ["2023.journal", "2024.journal", "2025.journal", "live.journal"])
def test_the_verifier_knows_the_ledger_that_is_built(built: Path, name: str) -> None:
    assert (built / "ledger" / name).read_text() == (OWNER / name).read_text()


def test_the_verifier_knows_the_papers_that_are_built(built: Path) -> None:
    papers = built / "documents"
    found = {p.relative_to(papers).as_posix(): sha256(p) for p in papers.rglob("*.pdf")}
    assert found == sums("documents.sha256")


def test_the_verifier_knows_the_programs_that_are_packaged() -> None:
    package = TASK / "environment/server/tallyd"
    found = {path: sha256(package / path.lstrip("/")) for path in sums("programs.sha256")}
    assert found == sums("programs.sha256")


def test_hashes_keys_and_places_agree_between_builder_and_verifier() -> None:
    build = (TASK / "environment/server/build.sh").read_text()
    facts: dict[str, object] = {}
    source = (TASK / "tests/server.py").read_text()
    constants = source[source.index("INGRID, PIET") : source.index("PARTITIONS")]
    exec(constants, facts)  # the assignments alone: the module itself needs the verifier
    for name in ("INGRID_HASH", "PIET_HASH", "MACHINE_ID"):
        assert str(facts[name]) in build
    key = (TASK / "environment/server/files/ssh_host_ed25519_key.pub").read_text()
    assert key.split()[:2] == str(facts["HOST_KEY"]).split()
    places = re.findall(r"_start=(\d+) \w+_sectors=(\d+)", build)
    numbers = re.findall(r"\d: \((\d+), (\d+)\)", source)
    assert len(places) == 3 and places == numbers
