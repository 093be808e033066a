"""boot.pyz: one file, the same bytes for the same sources, complete for a bare Python 3.11."""

from __future__ import annotations

import ast
import os
import subprocess
import zipfile
from pathlib import Path

import pytest
from verifier_runs import DEBIAN_PYTHON

import benchflow
from benchflow.boot.runner.zipapp import build_boot_zipapp

BENCHFLOW = Path(benchflow.__file__).parent


def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    build_boot_zipapp(tmp_path / "a.pyz")
    os.utime(tmp_path / "a.pyz", (0, 0))
    build_boot_zipapp(tmp_path / "b.pyz")
    assert (tmp_path / "a.pyz").read_bytes() == (tmp_path / "b.pyz").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.pyz", "b.pyz"]


def test_it_holds_boot_and_its_libraries_and_nothing_else(tmp_path: Path) -> None:
    build_boot_zipapp(tmp_path / "boot.pyz")
    names = zipfile.ZipFile(tmp_path / "boot.pyz").namelist()
    folders = {name.rpartition("/")[0] for name in names}
    assert folders == {
        "",
        "benchflow",
        "benchflow/bench",
        "benchflow/boot",
        "benchflow/boot/inspect",
        "benchflow/boot/machine",
        "benchflow/boot/runner",
        "pexpect",
        "ptyprocess",
        "qemu",
        "qemu/qmp",
    }
    assert "benchflow/boot/runner/zipapp.py" not in names
    assert all(name.endswith(".py") for name in names)


@pytest.mark.needs("python3-pytest")
def test_every_module_imports_in_debians_python(tmp_path: Path) -> None:
    """But for libraries of Debian packages that a module itself says it takes (`PACKAGES`)."""
    build_boot_zipapp(tmp_path / "boot.pyz")
    names = zipfile.ZipFile(tmp_path / "boot.pyz").namelist()
    modules = [
        name.removesuffix(".py").replace("/", ".")
        for name in names
        if name.startswith("benchflow/") and not name.endswith("__init__.py")
    ]
    stated = {name: _packages(name) for name in modules}
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'boot.pyz')!r})\n"
        f"from importlib import import_module\n"
        f"for name in {modules!r}:\n"
        "    try: import_module(name)\n"
        "    except ModuleNotFoundError as error:\n"
        f"        if 'python3-' + error.name not in {stated!r}.get(name, ()): raise\n"
        "import benchflow.boot as boot\n"
        "for name in boot.__all__: getattr(boot, name)\n"
        "import pexpect, qemu.qmp\n"
        f"assert pexpect.__file__.startswith({str(tmp_path)!r}), pexpect.__file__\n"
    )
    done = subprocess.run([DEBIAN_PYTHON, "-I", "-W", "error", "-c", code], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def _packages(module: str) -> tuple[str, ...]:
    source = BENCHFLOW.parent.joinpath(*module.split(".")).with_suffix(".py").read_text()
    for each in ast.parse(source).body:
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "PACKAGES":
            return tuple(ast.literal_eval(each.value))
    return ()


def test_the_public_names_are_sorted_and_load_lazily() -> None:
    import benchflow.boot as boot

    assert boot.__all__ == sorted(boot.__all__)
    assert set(boot.__all__) == set(boot._HOMES)
    for name in boot.__all__:
        assert getattr(boot, name).__module__.startswith("benchflow.boot.")
