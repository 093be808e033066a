"""What is inferred has the line that it comes from; what is not inferred is asked."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.authoring.onboard.repositories import MIT, PYTHON, write

from benchflow.authoring import static_gates
from benchflow.authoring.gate import Status
from benchflow.authoring.onboard.facts import Findings
from benchflow.authoring.onboard.infer import infer, is_needed, questions
from benchflow.authoring.onboard.source import opened
from benchflow.authoring.onboard.task_folder import propose
from benchflow.cli.new import command


def found_in(tmp_path: Path, files: dict[str, str]) -> Findings:
    with opened(str(write(tmp_path / "repo", {"LICENSE": MIT, **files}))) as source:
        return infer(source.tree)


def best(found: Findings, purpose: str) -> tuple[str, str]:
    first = found.best(purpose)[0]
    return first.value, first.where


def proposed(tmp_path: Path, files: dict[str, str], **more: Any) -> tuple[Path, dict[str, Any]]:
    folder = write(tmp_path / "repo", files)
    task = propose(str(folder), "onboard/it", top=tmp_path / "made", **more)
    return task.path, tomllib.loads((task.path / "repo.toml").read_text())


def test_python(tmp_path: Path) -> None:
    found = found_in(tmp_path, PYTHON)
    assert best(found, "install") == ("pip install -e .[test]", ".github/workflows/ci.yml:8")
    assert best(found, "test") == ("pytest -x tests", ".github/workflows/ci.yml:11")
    assert best(found, "run") == ("gunicorn notes.wsgi --bind 0.0.0.0:$PORT", "Procfile:1")
    assert {name: v.where for name, v in found.variables.items()} == {
        "DATABASE_URL": ".env.example:1",
        "SMTP_HOST": ".env.example:2",
        "DEBUG": ".env.example:3",
        "SECRET_KEY": "notes/settings.py:2",
        "SITE_NAME": "notes/settings.py:3",
    }
    assert {n for n, v in found.variables.items() if v.secret} == {"DATABASE_URL", "SECRET_KEY"}
    needed = {kind: is_needed(signs) for kind, signs in found.services.items()}
    assert needed == {"postgresql": True, "redis": True, "smtp": False}
    assert [one.where for one in found.services["postgresql"]] == [
        ".github/workflows/ci.yml:6",
        "pyproject.toml:6",
        "requirements.txt:2",
        ".env.example:1",
    ]
    assert [(one.value, one.where) for one in found.works] == [
        ("http://localhost:8000/health answers", "README.md:10")
    ]


def test_node(tmp_path: Path) -> None:
    package = (
        '{\n "name": "shop",\n "license": "ISC",\n "scripts": {\n  "start": "node server.js",\n'
        '  "build": "tsc",\n  "test": "jest"\n },\n "dependencies": {\n  "pg": "^8",\n'
        '  "openid-client": "^5",\n  "fork": "git+https://host.example/fork.git"\n },\n'
        ' "devDependencies": {"redis": "4"}\n}\n'
    )
    code = "const key = process.env.STRIPE_SECRET_KEY;\nprocess.env['PORT'];\n"
    found = found_in(
        tmp_path, {"package.json": package, "package-lock.json": "{}", "server.js": code}
    )
    assert best(found, "install") == ("npm ci", "package-lock.json:1")
    assert best(found, "test") == ("npm test", "package.json:7")
    assert best(found, "run") == ("npm start", "package.json:5")
    assert best(found, "build") == ("npm run build", "package.json:6")
    assert set(found.services) == {"postgresql", "oidc", "payment"}
    assert [(one.value, one.where) for one in found.online] == [
        ("the dependency fork from git+https://host.example/fork.git", "package.json:12")
    ]


def test_go_rust_and_c(tmp_path: Path) -> None:
    go = {
        "go.mod": "module host.example/tool/v2\n\ngo 1.21\n\nrequire (\n"
        "\tgithub.com/lib/pq v1.10.9\n"
        "\tgithub.com/x/y v1.0.0 // indirect\n)\n",
        "cmd/tool/main.go": 'package main\n\nfunc main() { os.Getenv("TOOL_TOKEN") }\n',
        "a_test.go": "package tool\n",
    }
    found = found_in(tmp_path / "go", go)
    assert found.name and found.name.value == "tool"
    assert best(found, "run") == ("go run ./cmd/tool", "cmd/tool/main.go:1")
    assert best(found, "test") == ("go test ./...", "a_test.go:1")
    assert [(d.name, d.scope, d.where) for d in found.dependencies if d.ecosystem == "go"] == [
        ("github.com/lib/pq", "runtime", "go.mod:6"),
        ("github.com/x/y", "optional", "go.mod:7"),
    ]
    assert list(found.services) == ["postgresql"]

    rust = {
        "Cargo.toml": '[package]\nname = "mailer"\n\n[dependencies]\nlettre = "0.11"\n'
        'own = { git = "https://host.example/own" }\n',
        "src/main.rs": 'fn main() { std::env::var("SMTP_PASSWORD"); }\n',
    }
    found = found_in(tmp_path / "rust", rust)
    assert best(found, "run") == ("cargo run", "src/main.rs:1")
    assert list(found.services) == ["smtp"]
    assert found.online[0].where == "Cargo.toml:6"

    c = {
        "configure.ac": "AC_INIT([daemon], [1.0])\nPKG_CHECK_MODULES([PQ], [libpq >= 9])\n",
        "Makefile.am": "bin_PROGRAMS = daemon\n",
        "CMakeLists.txt": "project(daemon C)\nenable_testing()\nFetchContent_Declare(x URL https://host.example/x)\n",
    }
    found = found_in(tmp_path / "c", c)
    assert [one.value for one in found.best("build")] == [
        "cmake -B build && cmake --build build",
        "autoreconf -fi && ./configure && make",
    ]
    assert best(found, "test") == ("ctest --test-dir build", "CMakeLists.txt:2")
    assert found.online[0].where == "CMakeLists.txt:3"


def test_what_is_not_there_is_asked_and_not_guessed(tmp_path: Path) -> None:
    found = found_in(tmp_path, {"main.f90": "end\n"})
    assert not any(found.commands.values())
    assert [one.about for one in questions(found)] == ["install", "run", "test", "works", "change"]


def test_of_two_ecosystems_the_one_with_more_sources_comes_first(tmp_path: Path) -> None:
    steps = "jobs:\n  t:\n    steps:\n      - run: {}\n"
    files = {
        ".github/workflows/a.yml": steps.format("npm test"),
        ".github/workflows/b.yml": steps.format("pytest"),
        "package.json": "{}",
        "a.js": "",
    }
    more = {f"p{n}.py": "" for n in range(3)}
    assert best(found_in(tmp_path / "py", {**files, **more}), "test")[0] == "pytest"
    assert best(found_in(tmp_path / "js", files), "test")[0] == "npm test"


def test_several_programs_are_a_question_unless_one_has_the_name(tmp_path: Path) -> None:
    def about_run(name: str) -> list[str]:
        entries = '"""\n    [console_scripts]\n    tool-api=a:b\n    tool=a:b\n    """'
        setup = f'setup(name="{name}", entry_points={entries})\n'
        found = found_in(tmp_path / name, {"setup.py": setup})
        if name == "tool":
            assert best(found, "run") == ("tool", "setup.py:1")
        return [one.why for one in questions(found) if one.about == "run"]

    assert about_run("tool") == []
    assert about_run("other") == ["several programs, and nothing says which: tool-api, tool"]


def test_tox_says_how_tests_are_run(tmp_path: Path) -> None:
    own = "[testenv]\ncommands =\n    {toxinidir}/run-tests.sh {posargs}\n"
    tox = f"{own}[testenv:lint]\ncommands = x\n"
    found = found_in(tmp_path, {"tox.ini": tox, "setup.py": "", "tests/test_a.py": ""})
    assert best(found, "test") == ("./run-tests.sh", "tox.ini:3")


def test_a_container_starts_what_both_lines_say(tmp_path: Path) -> None:
    docker = 'FROM x\nENTRYPOINT ["gunicorn", "-b", "0:80"]\nCMD ["notes.run"]\n'
    found = found_in(tmp_path, {"Dockerfile": docker})
    assert best(found, "run") == ("gunicorn -b 0:80 notes.run", "Dockerfile:2")


def test_mail_that_code_sends_is_a_question(tmp_path: Path) -> None:
    found = found_in(tmp_path, {"a.py": "import os\nimport smtplib\n", "package.json": "{}"})
    assert [(one.value, one.where) for one in found.services["smtp"]] == [
        ("code: smtplib", "a.py:2")
    ]
    assert "service smtp" in [one.about for one in questions(found)]


def test_a_package_without_its_tests_is_asked_for_them(tmp_path: Path) -> None:
    found = found_in(tmp_path, {"package.json": '{"scripts": {"test": "jest"}}'})
    whys = [one.why for one in questions(found) if one.about == "tests"]
    assert whys == ["a command is stated, but no test file lies here"]


def test_two_ports_are_a_question(tmp_path: Path) -> None:
    compose = "services:\n  a:\n    build: .\n    command: serve\n    ports: ['1:8001', '2:8002']\n"
    found = found_in(tmp_path, {"compose.yml": compose})
    assert [one.why for one in questions(found) if one.about == "port"] == [
        "several places differ: 8001, 8002; it may also be a program that serves nothing"
    ]


def test_a_key_of_a_company_cannot_be_played(tmp_path: Path) -> None:
    found = found_in(tmp_path, {"a.py": 'import os\nos.environ["TWILIO_AUTH_TOKEN"]\n'})
    assert found.online[0].where == "a.py:2"
    assert "TWILIO_AUTH_TOKEN" in found.online[0].value


def test_tests_and_other_peoples_code_set_nothing(tmp_path: Path) -> None:
    read = 'import os\nos.environ["X_KEY"]\n'
    others = ("tests/a.py", "vendor/x/a.py", "node_modules/p/a.py")
    assert found_in(tmp_path, dict.fromkeys(others, read)).variables == {}


def test_the_folder_loads_and_says_what_is_due(tmp_path: Path) -> None:
    folder, told = proposed(tmp_path, PYTHON, author="A. Engineer", services=("oidc",))
    assert static_gates.coverage(static_gates.load(folder)).status is Status.PASSED
    assert static_gates.leaks(static_gates.load(folder)).status is Status.PASSED
    assert static_gates.schema(folder).findings == (
        "5 milestones, 10 are asked for",
        "5 checks, 25 are asked for",
        "0 exploits, 4 are asked for",
    )
    assert told["source"]["name"] == "notes"
    assert told["port"] == [{"number": 8000, "from": "docker-compose.yml:5"}]
    assert [one["kind"] for one in told["service"] if one["needed"]] == [
        "oidc",
        "postgresql",
        "redis",
    ]
    assert "s3cret" not in (folder / "repo.toml").read_text()
    assert "port 8000" in (folder / "instruction.md").read_text()
    assert {one["about"] for one in told["question"]} >= {"tests", "change", "service smtp"}


def test_without_a_port_no_check_asks_one(tmp_path: Path) -> None:
    folder, told = proposed(tmp_path, {"LICENSE": MIT, "a.py": ""})
    task = static_gates.load(folder)
    assert [m.id for m in task.milestones] == ["kernel", "login", "source"]
    assert "ask(" not in (folder / "tests" / "checks.py").read_text()
    assert "port" not in told


def test_the_same_repository_makes_the_same_bytes(tmp_path: Path) -> None:
    made = []
    for one in ("a", "b"):
        folder, _ = proposed(tmp_path / one, PYTHON)
        made.append(
            {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        )
    assert made[0] == made[1]


def test_the_verb(tmp_path: Path) -> None:
    folder = write(tmp_path / "repo", PYTHON)
    said = CliRunner().invoke(
        command, ["onboard/notes", "--from-repo", str(folder), "--in", str(tmp_path / "made")]
    )
    assert said.exit_code == 0, said.output
    assert "  test      pytest -x tests  (.github/workflows/ci.yml:11)\n" in said.output
    assert "  services  postgresql, redis, smtp?\n" in said.output
    for wrong in (["--like", "x"], ["--seed", "1"]):
        again = CliRunner().invoke(command, ["onboard/b", "--from-repo", str(folder), *wrong])
        assert again.exit_code == 2
    alone = CliRunner().invoke(command, ["onboard/b", "--services", "redis"])
    assert "add --from-repo" in alone.output


@pytest.mark.parametrize("name", ["Onboard/X", "x", "../a/b"])
def test_a_wrong_name_is_said_before_anything_is_read(tmp_path: Path, name: str) -> None:
    said = CliRunner().invoke(command, [name, "--from-repo", str(tmp_path / "nowhere")])
    assert "TOPIC/NAME" in str(said.exception)
