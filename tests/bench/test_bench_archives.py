"""Archives with good and bad signatures: served, cut, held; packages that dpkg takes."""

from __future__ import annotations

import http.client
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchflow.bench import http_files
from benchflow.bench.apt_archive import clearsigned, read_suite, release_text, signed_by
from benchflow.bench.deb_package import Deb, control_of, fields, stanza
from benchflow.bench.http_files import HttpFiles
from benchflow.boot import BadDeliverable
from benchflow.boot.inspect.openpgp import Key

INDEX = "main/binary-amd64/Packages"


@pytest.fixture
def served() -> Iterator[HttpFiles]:
    server = HttpFiles("127.0.0.1")
    yield server
    server.close()


def get(url: str, timeout: float = 20) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(url, timeout=timeout) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_files_are_served_and_what_is_asked_is_noted(served: HttpFiles, tmp_path: Path) -> None:
    served.put("a.pkg", b"content")
    (tmp_path / "b").write_bytes(b"from a file")
    served.put("sub/b.pkg", tmp_path / "b")
    assert get(f"{served.url}/a.pkg") == (200, b"content")
    assert get(f"{served.url}/sub%2Fb.pkg") == (200, b"from a file")
    assert get(f"{served.url}/none")[0] == 404 and get(f"{served.root}/a.pkg")[0] == 404
    served.remove("a.pkg")
    assert get(f"{served.url}/a.pkg")[0] == 404
    assert served.fetched(".pkg") == ["a.pkg", "b.pkg", "a.pkg", "a.pkg"]
    assert not served.marked("word") and get(served.mark("word")) == (200, b"go\n")
    assert served.marked("word")


def test_head_and_connections_that_are_kept_or_not(served: HttpFiles) -> None:
    other = HttpFiles("127.0.0.1", keep_alive=False)
    try:
        for server, kept in ((served, True), (other, False)):
            server.put("x", b"123")
            link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
            link.request("HEAD", server.place("x"))
            answer = link.getresponse()
            assert (answer.status, answer.getheader("Content-Length")) == (200, "3")
            assert answer.read() == b"" and answer.will_close is not kept
            link.close()
    finally:
        other.close()


def test_answers_are_cut_slow_held_and_refused(served: HttpFiles) -> None:
    served.put("x", b"0123456789")
    served.cut[served.place("x")] = 4
    with pytest.raises(http.client.IncompleteRead):
        get(f"{served.url}/x")
    served.calm()
    served.slow[served.place("x")] = (3, 0.2)
    began = time.monotonic()
    assert get(f"{served.url}/x")[1] == b"0123456789" and time.monotonic() - began >= 0.6
    served.calm()
    served.down = True
    assert get(f"{served.url}/x")[0] == 503 and get(served.mark("w"))[0] == 200
    served.calm()
    for how in ("held", "stalled"):
        if how == "held":
            served.held = lambda path: path.endswith("/x")
        else:
            served.stalled[served.place("x")] = 2
        answers: list[bytes] = []
        asker = threading.Thread(target=lambda a=answers: a.append(get(f"{served.url}/x")[1]))
        served.asked.clear()
        asker.start()
        while not served.asked:
            time.sleep(0.01)
        time.sleep(0.3)
        assert answers == [], how
        served.let_go()
        asker.join(20)
        assert answers == [b"0123456789"], how


def test_a_guest_cannot_have_connections_without_end(
    served: HttpFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_files, "CONNECTIONS_MAX", 3)
    server = HttpFiles("127.0.0.1")
    server.put("x", b"1")
    links = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=20) for _ in range(3)]
    try:
        for link in links:
            link.request("GET", server.place("x"))
            assert link.getresponse().read() == b"1"
        with pytest.raises(OSError):
            get(f"{server.url}/x")
        links[0].close()
        for _ in range(100):
            try:
                assert get(f"{server.url}/x") == (200, b"1")
                break
            except OSError:
                time.sleep(0.05)
        else:
            pytest.fail("a place that is free again is not given")
    finally:
        for link in links:
            link.close()
        server.close()


PACKAGE = Deb(
    "tidelog", "1:2.0-1",
    files={"/usr/bin/tide": "#!/bin/sh\n", "/etc/tide.conf": "a\n", "/usr/share/t/raw": b"\xff\0"},
    conffiles=("/etc/tide.conf",), scripts={"postinst": "#!/bin/sh\nexit 0\n"},
    fields={"Depends": "libc6"},
)  # fmt: skip


@pytest.mark.needs("dpkg-deb")
def test_dpkg_takes_what_is_packed(tmp_path: Path) -> None:
    path = tmp_path / PACKAGE.file_name
    path.write_bytes(PACKAGE.pack())
    assert path.name == "tidelog_1%3a2.0-1_all.deb" and PACKAGE.pack() == path.read_bytes()
    subprocess.run(["dpkg-deb", "-R", str(path), str(tmp_path / "x")], check=True)
    assert (tmp_path / "x/usr/share/t/raw").read_bytes() == b"\xff\0"
    assert (tmp_path / "x/usr/bin/tide").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "x/DEBIAN/conffiles").read_text() == "/etc/tide.conf\n"
    asked = ["dpkg-deb", "-f", str(path), "Package", "Version", "Depends"]
    shown = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert shown == "Package: tidelog\nVersion: 1:2.0-1\nDepends: libc6\n"
    said = control_of(path.read_bytes())
    assert said["package"] == "tidelog" and said["depends"] == "libc6"


@pytest.mark.parametrize("cut", [0, 7, 30, 68, 100, 200])
def test_broken_packages_are_the_deliverers_fault(cut: int) -> None:
    with pytest.raises((AssertionError, BadDeliverable)):
        control_of(PACKAGE.pack()[:cut])


def test_paragraphs_are_read() -> None:
    assert fields("A: 1\nB: x\n y\n .\n z\n") == {"a": "1", "b": "x\n y\n .\n z"}
    for wrong in ("A: 1\nA: 2\n", " y\nA: 1\n", "no colon\n"):
        with pytest.raises(AssertionError):
            fields(wrong)


@pytest.fixture(scope="module")
def key() -> Key:
    return Key.stranger(b"k" * 32)


def archive(folder: Path, key: Key, *, index: bytes | None = None, text: str = "") -> Path:
    data = PACKAGE.pack()
    place = f"pool/{PACKAGE.file_name.replace('%3a', ':').replace(':', '_')}"
    own = stanza(PACKAGE.control, place, data).encode()
    said = {"Origin": "Holm", "Suite": "alke", "Codename": "alke", "Components": "main",
            "Architectures": "amd64"}  # fmt: skip
    text = text or release_text(said, {INDEX: index or own}, 1_700_000_000, valid_for=3600)
    for name, content in ((place, data), (f"dists/alke/{INDEX}", own),
                          ("dists/alke/InRelease", key.clearsigned(text))):  # fmt: skip
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def test_a_suite_is_read_and_every_change_is_seen(tmp_path: Path, key: Key) -> None:
    suite = read_suite(archive(tmp_path / "good", key), "alke", INDEX, key)
    assert suite.version("tidelog") == "1:2.0-1" and suite.release["origin"] == "Holm"
    assert suite.release["date"] == "Tue, 14 Nov 2023 22:13:20 GMT"
    assert suite.release["valid-until"] == "Tue, 14 Nov 2023 23:13:20 GMT"
    assert suite.packages["tidelog"].control["depends"] == "libc6"
    with pytest.raises(AssertionError, match="alke has no package none"):
        suite.version("none")
    with pytest.raises((AssertionError, BadDeliverable)):
        read_suite(tmp_path / "good", "alke", INDEX, Key.stranger(b"o" * 32))
    with pytest.raises(AssertionError, match="not that of main"):
        read_suite(archive(tmp_path / "sum", key, index=b"other"), "alke", INDEX, key)
    broken = archive(tmp_path / "deb", key)
    (deb,) = broken.glob("pool/*")
    deb.write_bytes(deb.read_bytes()[:-1] + b"!")
    with pytest.raises(AssertionError, match="another SHA256"):
        read_suite(broken, "alke", INDEX, key)


def test_a_release_is_signed_by_all_of_several_keys_and_no_other(key: Key, tmp_path: Path) -> None:
    other, third = Key.stranger(b"o" * 32), Key.stranger(b"t" * 32)
    text = "Suite: alke\n- a dash\n"
    both = clearsigned(text, key, other)
    assert signed_by(both, key, other) == signed_by(both, other, key) == text.rstrip("\n")
    assert signed_by(key.clearsigned(text), key) == text.rstrip("\n")
    with pytest.raises(AssertionError, match="a key that should not sign it"):
        signed_by(both, key)
    with pytest.raises(AssertionError, match="1 of 3 keys"):
        signed_by(both, key, other, third)
    with pytest.raises(AssertionError):
        signed_by(both.replace(b"alke", b"bris"), key, other)
    folder = archive(tmp_path / "both", key)
    release = folder / "dists/alke/InRelease"
    said = signed_by(release.read_bytes(), key)
    release.write_bytes(clearsigned(said, key, other))
    assert read_suite(folder, "alke", INDEX, key, other).release["origin"] == "Holm"
    assert read_suite(folder, "alke", INDEX).version("tidelog") == "1:2.0-1"
    with pytest.raises(AssertionError):
        read_suite(folder, "alke", INDEX, key)


@pytest.mark.skipif(shutil.which("gpgv") is None, reason="needs gpgv")
def test_gpg_believes_one_of_several_signatures(key: Key, tmp_path: Path) -> None:
    """As apt does: a keyring with one of the keys is enough."""
    other = Key.stranger(b"o" * 32)
    (tmp_path / "text").write_bytes(clearsigned("Suite: alke\n", key, other))
    (tmp_path / "ring.gpg").write_bytes(b"\xc6" + bytes([len(key.body)]) + key.body)
    call = ["gpgv", "--status-fd", "1", "--keyring", str(tmp_path / "ring.gpg")]
    said = subprocess.run([*call, str(tmp_path / "text")], capture_output=True, text=True).stdout
    assert said.count("NEWSIG") == 2 and "NODATA" not in said and said.count("NO_PUBKEY") >= 1


def test_what_a_release_says_can_be_wrong_on_purpose() -> None:
    text = release_text({"Date": "never", "Suite": "x"}, {"a": b"1"}, 0)
    assert text.startswith("Date: never\nSuite: x\nSHA256:\n ") and text.endswith(" 1 a\n")
