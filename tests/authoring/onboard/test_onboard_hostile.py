"""Repositories that lie, climb, explode or run something: read, or refused in words."""

from __future__ import annotations

import io
import os
import socket
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.authoring.onboard.repositories import MIT, PYTHON, committed, git, member, tarball, write

from benchflow.authoring.onboard import source as sources
from benchflow.authoring.onboard import tree as trees
from benchflow.authoring.onboard.infer import infer
from benchflow.authoring.onboard.source import opened
from benchflow.authoring.onboard.task_folder import propose
from benchflow.errors import UsageError


def notes_of(where: Path) -> list[str]:
    with opened(str(where)) as source:
        return [f"{note.text} ({note.where})" for note in infer(source.tree).notes]


def missing_of(where: Path) -> list[str]:
    with opened(str(where)) as source:
        return [f"{one.value} ({one.where})" for one in infer(source.tree).online]


def test_a_link_out_is_left_out_and_told(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("DATABASE_URL=postgres://me:mine@host/x\n")
    folder = write(tmp_path / "repo", {"LICENSE": MIT, "a.py": ""})
    (folder / ".env.example").symlink_to(secret)
    (folder / "README.md").symlink_to("../secret.txt")
    (folder / "deep").symlink_to("/etc")
    (folder / "fine").symlink_to("a.py")
    with opened(str(folder)) as source:
        found = infer(source.tree)
    assert sorted(source.tree.sizes) == ["LICENSE", "a.py"]
    assert found.variables == {}
    assert sorted(note.where for note in found.notes) == [".env.example", "README.md", "deep"]
    assert all("outside: left out" in note.text for note in found.notes)


def test_a_file_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    secret = write(tmp_path, {"secret": "DATABASE_URL=postgres://me:mine@host/x\n"}) / "secret"
    folder = write(tmp_path / "repo", {"LICENSE": MIT, ".env.example": "A=1\n"})
    with opened(str(folder)) as source:
        (folder / ".env.example").unlink()
        (folder / ".env.example").symlink_to(secret)
        assert source.tree.bytes_of(".env.example") == b""


def test_pipes_and_sockets_are_not_opened(tmp_path: Path) -> None:
    folder = write(tmp_path / "repo", {"LICENSE": MIT})
    os.mkfifo(folder / "README.md")
    listener = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    try:
        os.chdir(folder)  # the path of a socket is short
        listener.bind("setup.py")
    finally:
        os.chdir(here)
        listener.close()
    assert len([n for n in notes_of(folder) if "pipe or socket: left out" in n]) == 2


def test_a_huge_file_is_told_and_costs_nothing(tmp_path: Path) -> None:
    folder = write(tmp_path / "repo", {"LICENSE": MIT, "a.py": ""})
    with (folder / "package.json").open("wb") as file:
        file.truncate(1 << 30)
    assert "1024 MiB: too large to be read (package.json)" in notes_of(folder)


def test_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "repo", {str(n): "" for n in range(12)})
    monkeypatch.setattr(trees, "FILES_MAX", 10)
    with pytest.raises(UsageError, match="more than 10 files"), opened(str(folder)):
        pass


@pytest.mark.needs("git")
def test_nothing_of_a_git_repository_is_executed(tmp_path: Path) -> None:
    """Hooks, filters, file monitors, pack hooks, aliases: each would leave a mark."""
    folder, mark = tmp_path / "repo", tmp_path / "executed"
    files = {**PYTHON, ".gitattributes": "*.py filter=bad diff=bad\n"}
    commit = committed(folder, files)
    run = tmp_path / "run.sh"
    run.write_text(f"#!/bin/sh\necho ran >> {mark}\ncat\n")
    run.chmod(0o755)
    for hook in ("post-checkout", "reference-transaction", "pre-auto-gc", "post-index-change"):
        (folder / ".git" / "hooks" / hook).write_bytes(run.read_bytes())
        (folder / ".git" / "hooks" / hook).chmod(0o755)
    for key in ("core.fsmonitor", "filter.bad.smudge", "filter.bad.clean", "core.sshCommand",
                "uploadpack.packObjectsHook", "diff.bad.textconv", "alias.fetch"):  # fmt: skip
        git(folder, "config", key, str(run))
    with opened(str(folder)) as source:
        found = infer(source.tree)
    assert source.pin == commit
    assert found.best("test")
    assert not mark.exists()


@pytest.mark.needs("git")
def test_a_commit_is_read_and_not_what_lies_in_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "repo"
    first = committed(folder, {"LICENSE": MIT, "Makefile": "test:\n\ttrue\n"})
    write(folder, {"Makefile": "check:\n\ttrue\n"})
    git(folder, "commit", "-q", "-a", "-m", "second")
    write(folder, {"Makefile": "never:\n"})
    for where, wanted in ((str(folder), "make check"), (f"{folder}@{first}", "make test")):
        with opened(where) as source:
            assert [one.value for one in infer(source.tree).best("test")] == [wanted]
    with pytest.raises(UsageError, match="git cannot read it"), opened(f"{folder}@nothing"):
        pass
    for bad in ("--upload-pack=touch", "a..b"):
        with pytest.raises(UsageError, match="names no commit"), opened(f"{folder}@{bad}"):
            pass


@pytest.mark.needs("git")
def test_transports_that_run_programs_are_refused(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    for url in (
        f"ext::sh -c touch% {mark}",
        f"ext://sh -c 'touch {mark}'",
        "ssh://nowhere.example/x",
    ):
        with pytest.raises(UsageError), opened(url):
            pass
    assert not mark.exists()


@pytest.mark.needs("git")
def test_submodules_links_and_lfs_in_git(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    committed(inner, {"x": "y"})
    folder = tmp_path / "repo"
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"
    committed(
        folder, {"LICENSE": MIT, "model.bin": pointer, ".gitattributes": "*.bin filter=lfs\n"}
    )
    git(
        folder,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(inner),
        "lib/in",
    )
    (folder / "out").symlink_to("/etc/passwd")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "second")
    assert missing_of(folder) == [
        "a submodule whose content is elsewhere (lib/in)",
        "a file that Git LFS keeps elsewhere (model.bin)",
    ]
    assert "link to /etc/passwd, outside: left out (out)" in notes_of(folder)
    with (
        pytest.raises(UsageError, match="leads to a repository elsewhere"),
        opened(f"{folder}/lib/in"),
    ):
        pass


def test_a_build_file_that_runs_commands_is_only_parsed(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    evil = f'import os\nos.system("touch {mark}")\nNEEDS = ["redis"]\n'
    setup = f'{evil}from setuptools import setup\nsetup(name="evil", install_requires=NEEDS)\n'
    make = f"X := $(shell touch {mark})\ntest:\n\ttrue\n"
    folder = write(
        tmp_path / "repo",
        {
            "LICENSE": MIT,
            "setup.py": setup,
            "conftest.py": evil,
            "Makefile": make,
            "docker-compose.yml": f"services: !!python/object/apply:os.system ['touch {mark}']\n",
            "configure": f"#!/bin/sh\ntouch {mark}\n",
            "package.json": f'{{"scripts": {{"preinstall": "touch {mark}", "test": "x"}}}}',
        },
    )
    with opened(str(folder)) as source:
        found = infer(source.tree)
    assert not mark.exists()
    assert found.name and (found.name.value, found.name.where) == ("evil", "setup.py:5")
    assert [one.name for one in found.dependencies] == ["redis"]
    assert any("runs at install" in note.text for note in found.notes)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("package.json", "[" * 100_000),
        ("package.json", '{"scripts": ["a"], "dependencies": 5, "name": {}, "bin": [1]}'),
        ("package.json", "{"),
        ("pyproject.toml", "project = 1\ntool = []\n"),
        ("pyproject.toml", "a = " + "[" * 5000),
        ("setup.py", "(" * 5000),
        ("setup.py", "setup(**x, install_requires=f())"),
        ("setup.cfg", "[a\nb"),
        ("docker-compose.yml", "[" * 3000),
        ("docker-compose.yml", "services: 3"),
        ("docker-compose.yml", "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nservices: {x: *c}"),
        (".github/workflows/a.yml", "a: &a\n  run: *a\n"),
        ("Cargo.toml", "[package]\nname = [1]\n"),
        ("go.mod", "require (\n\t\n"),
        ("debian/control", "Build-Depends: ((((\n"),
        ("meson.build", "project('"),
    ],
)
def test_no_file_makes_the_reader_fall_over(tmp_path: Path, name: str, text: str) -> None:
    folder = write(tmp_path / "repo", {"LICENSE": MIT, name: text})
    with opened(str(folder)) as source:
        assert infer(source.tree).licences


def test_names_in_other_encodings_and_with_escapes(tmp_path: Path) -> None:
    folder = write(tmp_path / "repo", {"LICENSE": MIT})
    raw = os.fsencode(folder)
    for name in (b"caf\xe9.py", b"a\x1b[31m.py", b"line\nend.py"):
        with open(raw + b"/" + name, "wb") as file:  # noqa: PTH123 - bytes
            file.write(b'import os\nos.environ["FOUND_IT"]\n')
    task = propose(str(folder), "onboard/odd", top=tmp_path / "made")
    text = (task.path / "repo.toml").read_text()
    assert "caf\\\\xe9.py" in text and "\x1b" not in text
    with tarfile.open(task.path / "environment" / "repository.tar.gz") as archive:
        names = [os.fsencode(one) for one in archive.getnames()]
    assert b"caf\xe9.py" in names and b"line\nend.py" in names


def test_archives_that_climb_lie_or_explode(tmp_path: Path) -> None:
    bad = [
        (member("p/LICENSE"), MIT.encode()),
        (member("p/../../up.py"), b"x"),
        (member("/abs.py"), b"x"),
        (member("p/in", type=tarfile.SYMTYPE, linkname="../../../etc/passwd"), b""),
        (member("p/hard", type=tarfile.LNKTYPE, linkname="/etc/shadow"), b""),
        (member("p/dev", type=tarfile.CHRTYPE), b""),
    ]
    found = notes_of(tarball(tmp_path / "bad.tar.gz", bad))
    assert len([one for one in found if "left out" in one]) == 5

    plain = tmp_path / "cut.tar.gz"
    plain.write_bytes((tmp_path / "bad.tar.gz").read_bytes()[:100])
    with pytest.raises(UsageError, match="cannot be read"), opened(str(plain)):
        pass
    (tmp_path / "no.pdf").write_text("x")
    with pytest.raises(UsageError, match="no archive"), opened(str(tmp_path / "no.pdf")):
        pass


def test_a_bomb_ends_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told by the sizes, before anything is unpacked."""
    monkeypatch.setattr(trees, "TOTAL_MAX", 8 << 20)
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(3):
            archive.writestr(f"{number}", bytes(4 << 20))
    with pytest.raises(UsageError, match="GiB"), opened(str(bomb)):
        pass
    claims = tmp_path / "claims.tar"
    head = tarfile.TarInfo("a")
    head.size = 1 << 42
    claims.write_bytes(head.tobuf() + bytes(1024))
    with pytest.raises(UsageError, match="2 GiB"), opened(str(claims)):
        pass


def test_a_zip_is_read_too(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in PYTHON.items():
            archive.writestr(f"notes-1/{name}", text)
    (tmp_path / "notes.zip").write_bytes(packed.getvalue())
    with opened(str(tmp_path / "notes.zip")) as source:
        assert "pyproject.toml" in source.tree.sizes
        assert source.tree.text("requirements.txt") == PYTHON["requirements.txt"]


def test_without_a_licence_it_is_refused_until_somebody_says_one(tmp_path: Path) -> None:
    folder = write(tmp_path / "repo", {"a.py": "print(1)\n"})
    with pytest.raises(UsageError, match="no licence was found"):
        propose(str(folder), "onboard/a", top=tmp_path / "made")
    assert not (tmp_path / "made").exists()
    task = propose(str(folder), "onboard/a", top=tmp_path / "made", licence_told="MIT")
    assert "said by the author" in (task.path / "repo.toml").read_text()


def test_what_is_no_repository_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no file that can be read"):
        propose(str(tmp_path / "empty"), "onboard/a", top=tmp_path / "made")
    with pytest.raises(UsageError, match="does not exist"):
        propose(str(tmp_path / "nowhere"), "onboard/a", top=tmp_path / "made")
    with pytest.raises(UsageError, match="no git repository"):
        propose(f"{tmp_path / 'empty'}@v1", "onboard/a", top=tmp_path / "made")


def test_a_debian_source_package_is_checked_against_its_recipe(tmp_path: Path) -> None:
    upstream = {"tool-1/LICENSE": MIT.encode(), "tool-1/Makefile": b"all:\n"}
    orig = tarball(tmp_path / "tool_1.orig.tar.gz", [(member(n), d) for n, d in upstream.items()])
    control = b"Source: tool\nBuild-Depends: debhelper-compat (= 13), libpq-dev\n\nPackage: tool\n"
    own = {"debian/control": control, "debian/rules": b"%:\n\tdh $@\n"}
    deb = tarball(tmp_path / "tool_1-1.debian.tar.gz", [(member(n), d) for n, d in own.items()])
    rows = "".join(f" {sources._sha256(p)} {p.stat().st_size} {p.name}\n" for p in (orig, deb))
    (tmp_path / "tool_1-1.dsc").write_text(f"Source: tool\nChecksums-Sha256:\n{rows}")
    with opened(str(tmp_path)) as source:
        found = infer(source.tree)
    assert found.name and found.name.value == "tool"
    assert "postgresql" in found.services
    assert found.best("build")[0].where == "debian/rules:1"
    deb.write_bytes(orig.read_bytes())
    with pytest.raises(UsageError, match=r"is not what tool_1-1\.dsc says"), opened(str(tmp_path)):
        pass
