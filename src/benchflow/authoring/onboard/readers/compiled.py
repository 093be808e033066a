"""Go, Rust, and C with make, autotools, meson or CMake."""

from __future__ import annotations

import re
import tomllib

from benchflow.authoring.onboard.facts import Fact, Findings, Lines, table, text_of
from benchflow.authoring.onboard.tree import Note

_FETCHES = re.compile(
    r"^[^#\n]*(?:\b(?:curl|wget)\s[^\n]*https?://|FetchContent_Declare|ExternalProject_Add"
    r"|git (?:clone|submodule))[^\n]*",
    re.MULTILINE,
)

_HERE = re.compile(r"://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])")


def read(findings: Findings) -> None:
    """What the build files of compiled languages at the top say."""
    tree = findings.tree
    if "go.mod" in tree.sizes:
        _go(findings)
    if "Cargo.toml" in tree.sizes:
        _cargo(findings)
    if "meson.build" in tree.sizes:
        _meson(findings)
    if "CMakeLists.txt" in tree.sizes:
        _cmake(findings)
    _autotools(findings)
    make = next(tree.named(r"GNUmakefile|[Mm]akefile"), None)
    if make:
        _make(findings, make)
    for name in tree.named(r"CMakeLists\.txt|cmake/.*\.cmake|GNUmakefile|[Mm]akefile"):
        text = tree.text(name)
        for found in _FETCHES.finditer(text):
            if _HERE.search(found[0]):
                continue
            what = found[0].strip()[:120]
            findings.online.append(
                Fact(f"the build fetches: {what}", Lines(name, text).at(found.start()))
            )


def _go(findings: Findings) -> None:
    text = findings.tree.text("go.mod")
    lines = Lines("go.mod", text)
    if found := re.search(r"^module\s+(\S+)", text, re.MULTILINE):
        name = re.sub(r"/v\d+$", "", found[1]).rpartition("/")[2]
        findings.name = findings.name or Fact(name, lines.at(found.start()))
    if found := re.search(r"^go\s+(\d\S*)", text, re.MULTILINE):
        findings.depend("go", "system", "build", lines.at(found.start()), found[1])
    row = re.compile(r"^(?:require\s+|\s+)(\S+\.\S+/\S+|\S+\.\S+)\s+(v\S+)(.*)$", re.MULTILINE)
    for found in row.finditer(text):
        scope = "optional" if "// indirect" in found[3] else "runtime"
        findings.depend(found[1], "go", scope, lines.at(found.start(1)), found[2])
    findings.command("build", "go build ./...", "go.mod:1", 6)
    tests = list(findings.tree.named(r"(?:.*/)?[^/]+_test\.go"))
    if tests:
        findings.suites.append(Fact(f"{len(tests)} Go test files", f"{tests[0]}:1"))
        findings.command("test", "go test ./...", f"{tests[0]}:1", 6)
    mains = [
        name
        for name in findings.tree.named(r"[^/]+\.go", r"cmd/[^/]+/[^/]+\.go")
        if re.search(r"^package main\b", findings.tree.text(name), re.MULTILINE)
        and "func main()" in findings.tree.text(name)
    ]
    for name in mains[:5]:
        package = "./" + name.rpartition("/")[0] if "/" in name else "."
        findings.command("run", f"go run {package}", f"{name}:1", 6)


def _cargo(findings: Findings) -> None:
    text = findings.tree.text("Cargo.toml")
    lines, data = Lines("Cargo.toml", text), tomllib.loads(text)
    package = table(data.get("package"))
    if name := text_of(package.get("name")):
        findings.name = findings.name or Fact(name, lines.of("name", name))
    if about := text_of(package.get("description")):
        findings.about = findings.about or Fact(about, lines.of("description"))
    if licence := text_of(package.get("license")):
        findings.licences.append(Fact(licence, lines.of("license"), 1))
    if version := text_of(package.get("rust-version")):
        findings.depend("rust", "system", "build", lines.of("rust-version"), version)
    kinds = (
        ("dependencies", "runtime"),
        ("dev-dependencies", "test"),
        ("build-dependencies", "build"),
    )
    for key, scope in kinds:
        for name, told in table(data.get(key)).items():
            where = lines.of(f"{key}]", name)
            version = text_of(told) or text_of(table(told).get("version"))
            wanted = "optional" if table(told).get("optional") else scope
            findings.depend(name, "rust", wanted, where, version)
            if git := text_of(table(told).get("git")):
                findings.online.append(Fact(f"the dependency {name} from {git[:120]}", where))
    if "workspace" in data:
        findings.notes.append(Note("several packages in one", lines.of("[workspace")))
    findings.command("build", "cargo build", "Cargo.toml:1", 6)
    findings.command("test", "cargo test", "Cargo.toml:1", 7)
    tests = list(findings.tree.named(r"tests/.*\.rs"))
    if tests:
        findings.suites.append(Fact(f"{len(tests)} Rust test files", f"{tests[0]}:1"))
    for main in findings.tree.named(r"src/main\.rs", r"src/bin/[^/]+\.rs"):
        own = "" if main == "src/main.rs" else f" --bin {main[8:-3]}"
        findings.command("run", f"cargo run{own}", f"{main}:1", 6)
    programs = data.get("bin")
    for one in programs if isinstance(programs, list) else []:
        if name := text_of(table(one).get("name")):
            findings.command("run", f"cargo run --bin {name}", lines.of("[[bin]]", name), 6)


def _meson(findings: Findings) -> None:
    text = findings.tree.text("meson.build")
    lines = Lines("meson.build", text)
    if found := re.search(r"project\(\s*'([^']+)'", text):
        findings.name = findings.name or Fact(found[1], lines.at(found.start()))
    if found := re.search(r"license\s*:\s*'([^']+)'", text):
        findings.licences.append(Fact(found[1], lines.at(found.start()), 1))
    findings.command("build", "meson setup build && ninja -C build", "meson.build:1", 5)
    for name in findings.tree.named(r"meson\.build|(?:.*/)meson\.build"):
        own = findings.tree.text(name)
        for found in re.finditer(r"\bdependency\(\s*'([^']+)'", own):
            where = Lines(name, own).at(found.start())
            findings.depend(found[1], "pkg-config", "build", where)
        if found := re.search(r"^\s*test\(", own, re.MULTILINE):
            where = Lines(name, own).at(found.start())
            findings.command("test", "meson test -C build", where, 5)
    for name in findings.tree.named(r"subprojects/[^/]+\.wrap"):
        findings.notes.append(Note("a subproject that meson would fetch where it is missing", name))


def _cmake(findings: Findings) -> None:
    text = findings.tree.text("CMakeLists.txt")
    lines = Lines("CMakeLists.txt", text)
    if found := re.search(r"\bproject\s*\(\s*([\w.+-]+)", text, re.IGNORECASE):
        findings.name = findings.name or Fact(found[1], lines.at(found.start()))
    for found in re.finditer(r"\bfind_package\s*\(\s*(\w+)", text, re.IGNORECASE):
        findings.depend(found[1], "cmake", "build", lines.at(found.start()))
    findings.command("build", "cmake -B build && cmake --build build", "CMakeLists.txt:1", 5)
    for found in re.finditer(
        r"^\s*(?:enable_testing|add_test|include\s*\(\s*CTest)", text, re.M | re.I
    ):
        findings.command("test", "ctest --test-dir build", lines.at(found.start()), 5)
        break


def _autotools(findings: Findings) -> None:
    sizes = findings.tree.sizes
    script = next((name for name in ("configure.ac", "configure.in") if name in sizes), None)
    if script:
        text = findings.tree.text(script)
        lines = Lines(script, text)
        if found := re.search(r"AC_INIT\(\s*\[?([\w.+ -]+)\]?", text):
            findings.name = findings.name or Fact(found[1].strip(), lines.at(found.start()))
        for found in re.finditer(r"PKG_CHECK_MODULES\(\s*\[?\w+\]?\s*,\s*\[?([\w.+-]+)", text):
            findings.depend(found[1], "pkg-config", "build", lines.at(found.start()))
        for found in re.finditer(r"AC_(?:CHECK|SEARCH)_LIBS?\(\s*\[?([\w.+-]+)", text):
            findings.depend(found[1], "library", "build", lines.at(found.start()))
    if "configure" in sizes:
        findings.command("build", "./configure && make", "configure:1", 5)
    elif script:
        findings.command("build", "autoreconf -fi && ./configure && make", f"{script}:1", 5)


def _make(findings: Findings, name: str) -> None:
    text = findings.tree.text(name)
    lines = Lines(name, text)
    targets = {m[1]: m.start() for m in re.finditer(r"^([a-z][\w-]*)\s*:(?!=)", text, re.MULTILINE)}
    for target in ("check", "test", "tests"):
        if target in targets:
            findings.command("test", f"make {target}", lines.at(targets[target]), 5)
    for target in ("run", "serve", "server", "start"):
        if target in targets:
            findings.command("run", f"make {target}", lines.at(targets[target]), 6)
    if "install" in targets:
        findings.command("install", "make install", lines.at(targets["install"]), 7)
    others = {"pyproject.toml", "setup.py", "package.json", "Cargo.toml", "go.mod"}
    if not others & set(findings.tree.sizes) or "build" in targets:
        built = next((t for t in ("build", "all") if t in targets), "")
        findings.command("build", f"make {built}".strip(), lines.at(targets.get(built, 0)), 5)
