"""spin/rpm-kickstart: its parts agree with each other, and its helpers can tell yes from no."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.catalogue import checkers

from benchflow.bench.packed_secrets import disk_has_secret, has_secret
from benchflow.boot.inspect import openpgp
from benchflow.tasks.digest import files_below

TASK = Path(__file__).parents[2] / "tasks/spin/rpm-kickstart"
HELPERS = ("rpms", "metadata", "publisher", "hashes", "bench", "rootfs",
           "second", "refusals", "known", "closure", "packed")  # fmt: skip


@pytest.fixture(scope="module")
def helpers() -> Iterator[dict[str, ModuleType]]:
    with checkers.helpers("spin/rpm-kickstart", *HELPERS) as loaded:
        yield loaded


@pytest.fixture
def key() -> openpgp.Key:
    return openpgp.Key.stranger(bytes(range(32)))


@pytest.fixture(scope="module")
def kickstart() -> Iterator[ModuleType]:
    import importlib.util
    import sys

    place = TASK / "solution/sources/kickstart.py"
    spec = importlib.util.spec_from_file_location("rpm_kickstart_reader", place)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_what_the_oracle_and_its_exploits_edit_is_there() -> None:
    """A `sed` that finds nothing leaves the honest oracle, and nobody would see it."""
    solution = TASK / "solution"
    text = {path.name: path.read_text() for path in files_below(solution)}
    assert "\nRelease: 2\n" in text["beacon.spec"] and "\n%preun\n" in text["beacon.spec"]
    assert "\nRestart=always\n" in text["beacon.service"]
    assert "\nbaseurl=$source\n" in text["almar.repo"]
    assert "\nrepo_gpgcheck=1\n" in text["almar.repo"] and "\ngpgcheck=1\n" in text["almar.repo"]
    assert 'file.write("%_dbpath /var/lib/rpm\\n")' in text["target.py"]
    assert "_dbpath" in text["macros.almar"] and "_pkgverify_level" in text["macros.almar"]
    assert "{where[0]}:{where[1]}: " in text["kickstart.py"]
    assert "\n    if name not in GRAMMAR:\n" in text["kickstart.py"]
    assert "\n        if name not in allowed:\n" in text["kickstart.py"]
    assert (
        '"-L", part["label"]' in text["almar-compose"] and " {append}\\n" in text["almar-compose"]
    )
    for words in ("conf.install_weak_deps = ", '("gecos", "-c")', "conf.gpgcheck = True",
                  'post.options.get("interpreter", "/bin/sh")',
                  'write("/etc/machine-id", "")'):  # fmt: skip
        assert words in text["target.py"], words
    assert "\n%files\n" in text["almar-release.spec"]


def test_the_sources_that_are_known_are_those_that_are_shipped(
    helpers: dict[str, ModuleType],
) -> None:
    for name, files in helpers["known"].SOURCES.items():
        folder = TASK / "environment/order" / name
        found = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}
        assert found == files


def test_a_package_is_read_as_it_was_written(helpers: dict[str, ModuleType], key: Any) -> None:
    rpms = helpers["rpms"]
    made = rpms.Rpm("one", "1.2", {"/usr/bin/one": "#!/bin/sh\n", "/etc/one.conf": "x\n"},
                    ("/etc/one.conf",), {"post": "true\n"}, ("bash >= 5",), ("two",))  # fmt: skip
    read = rpms.read(made.pack(key), key)
    assert read.nevra == "one-0:1.2-1.noarch" and not read.is_source
    assert [file.path for file in read.files()] == ["/etc/one.conf", "/usr/bin/one"]
    assert ("bash", 12, "5") in read.needs("requires")
    assert read.needs("recommends") == [("two", 0, "")]
    other = openpgp.Key.stranger(bytes(32))
    data = made.pack(key)
    for wrong in (made.pack(other), made.pack(None), data[:-1] + b"!", data[:500], b""):
        with pytest.raises(AssertionError):
            rpms.read(wrong, key)


@pytest.mark.needs("openssl")
def test_passwords_are_hashed_as_elsewhere(helpers: dict[str, ModuleType]) -> None:
    for word in ("x", "Tern-Rope-58", "a" * 70):
        done = subprocess.run(
            ["openssl", "passwd", "-6", "-salt", "abcdef12", word],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        assert helpers["hashes"].hashed(word, "abcdef12") == done.stdout.strip()


def test_the_file_of_a_run_is_one_that_the_oracle_reads(
    helpers: dict[str, ModuleType], kickstart: ModuleType, tmp_path: Path
) -> None:
    second = helpers["second"].Second()
    (tmp_path / "parts").mkdir()
    for path, text in second.files("http://10.0.2.2:1/x/").items():
        (tmp_path / path).write_text(text)
    read = kickstart.read(str(tmp_path / "two.ks"))
    assert [part["mount"] for part in read.parts] == second.order
    assert [user["name"] for user in read.users] == [second.user, second.other]
    assert len(read.posts) == 4 and second.by_nevra()


def test_each_mistake_is_found_where_it_is(
    helpers: dict[str, ModuleType], kickstart: ModuleType, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("parts").mkdir()
    for wrong in helpers["refusals"].texts("http://10.0.2.2:1/x/", "one"):
        for path, text in wrong.files.items():
            Path(path).write_text(text)
        with pytest.raises(kickstart.Refused) as caught:
            kickstart.read(next(iter(wrong.files)))
        assert wrong.told_by(str(caught.value)), wrong.name


def test_what_a_file_includes_is_told_with_its_folder_or_without_and_itself_as_given(
    helpers: dict[str, ModuleType],
) -> None:
    wrong = helpers["refusals"].Wrong
    deep = wrong("deep", {}, ("parts/more.ks:3",))
    assert deep.told_by("parts/more.ks:3: no") and deep.told_by("./parts/more.ks:3: no")
    for line in ("more.ks:3: no", "../parts/more.ks:3: no", "parts/more.ks:31: no", "/parts/more"):
        assert not deep.told_by(line), line
    given = wrong("option", {}, ("option.ks:7",))
    assert given.told_by("option.ks:7: no") and not given.told_by("./option.ks:7: no")


def test_a_repository_of_a_run_has_all_that_is_offered(
    helpers: dict[str, ModuleType], key: Any, tmp_path: Path
) -> None:
    rpms, metadata, publisher = (helpers[n] for n in ("rpms", "metadata", "publisher"))
    one = rpms.Rpm("one", "1", {"/usr/share/one": "x"}, requires=("two",))
    (tmp_path / "packages").mkdir()
    (tmp_path / "repodata").mkdir()
    head = b'<metadata xmlns="http://linux.duke.edu/metadata/common"></metadata>'
    parts = {"primary": head, "filelists": head.replace(b"common", b"filelists")}
    text = '<repomd xmlns="http://linux.duke.edu/metadata/repo">'
    for kind, data in parts.items():
        (tmp_path / f"repodata/{kind}.xml").write_bytes(data)
        text += (
            f'<data type="{kind}"><checksum type="sha256">{hashlib.sha256(data).hexdigest()}'
            f'</checksum><location href="repodata/{kind}.xml"/></data>'
        )
    (tmp_path / "repodata/repomd.xml").write_text(f"{text}</repomd>")
    signature = key.detached(f"{text}</repomd>".encode())
    (tmp_path / "repodata/repomd.xml.asc").write_bytes(signature)
    repository = metadata.Repository(tmp_path, key)
    served = publisher.Publisher(repository)
    try:
        served.offer(one)
        served.publish()
        for name, data in served.files.items():
            place = tmp_path / "again" / name.split("/", 2)[2]
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        again = metadata.Repository(tmp_path / "again", key)
        assert [held.package.nevra for held in again.packages] == ["one-0:1-1.noarch"]
        assert again.unresolved() == ["one needs two"] and not again.unlisted()
        with pytest.raises(AssertionError):
            metadata.Repository(tmp_path / "again", openpgp.Key.stranger(bytes(32)))
    finally:
        served.close()


def test_the_letter_names_the_password_and_the_sizes() -> None:
    letter = (TASK / "instruction.md").read_text()
    assert re.search(r'PASSWORD = "(.+)"', (TASK / "tests/bench.py").read_text())[1] in letter  # type: ignore[index]
    order = (TASK / "environment/order/machine.ks").read_text()
    assert "--size=48" in order and "--size=720" in order


def test_a_secret_is_found_in_a_package(
    helpers: dict[str, ModuleType], key: Any, tmp_path: Path
) -> None:
    formats, rpms = helpers["packed"].FORMATS, helpers["rpms"]
    secret = [key.seed.hex().encode()]
    one = rpms.Rpm("x", "1", {"/usr/share/x": key.seed.hex()}).pack(key)
    assert has_secret(one, secret, formats) and not has_secret(one, secret)
    other = rpms.Rpm("x", "1", {"/usr/share/x": "y"}).pack(key)
    assert not has_secret(other, secret, formats)
    assert not has_secret(one[:300], secret, formats)
    (tmp_path / "disk").write_bytes(bytes(1 << 20) + one + bytes(1 << 20))
    assert disk_has_secret(tmp_path / "disk", secret, formats)


@pytest.mark.parametrize(
    ("passwd", "shadow", "wrong"),
    [
        ("", "", ""),
        ("ghost::0:0::/:/bin/sh", "", "root's number"),
        ("guest::1:1::/:/bin/sh", "", "guest"),
        ("", "guest::1::::::", "guest"),
    ],
)
def test_accounts_that_are_open(
    helpers: dict[str, ModuleType], passwd: str, shadow: str, wrong: str
) -> None:
    said = helpers["second"].open_accounts(
        f"root:x:0:0:root:/root:/bin/bash\n{passwd}", f"root:$6$x$y:1::::::\n{shadow}", {"root"}
    )
    assert wrong in said and bool(said) is bool(wrong)
