"""Repositories of several kinds, written as files."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from pathlib import Path

MIT = (
    "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy\n"
)

PYTHON = {
    "LICENSE": MIT,
    "README.md": (
        "# Notes\n\nNotes is a server for notes of a team.\n\n"
        "```console\n$ pip install -r requirements.txt\n$ gunicorn notes.wsgi\n```\n\n"
        "Then `curl -s http://localhost:8000/health` says ok.\n"
    ),
    "pyproject.toml": (
        '[project]\nname = "notes"\nversion = "1"\ndescription = "Notes of a team"\n'
        'license = "MIT"\ndependencies = ["django>=4", "psycopg2-binary"]\n\n'
        '[project.optional-dependencies]\ncache = ["redis"]\ntest = ["pytest"]\n\n'
        '[project.scripts]\nnotes = "notes.cli:main"\n\n[tool.pytest.ini_options]\n'
    ),
    "requirements.txt": "django==4.2\npsycopg2-binary==2.9\n",
    ".env.example": "DATABASE_URL=postgres://notes:s3cret@localhost/notes\n# SMTP_HOST=\nDEBUG=0\n",
    "notes/settings.py": (
        'import os\nKEY = os.environ["SECRET_KEY"]\nNAME = os.getenv("SITE_NAME")\n'
    ),
    "tests/test_notes.py": "def test_it(): assert True\n",
    ".github/workflows/ci.yml": (
        "on: push\njobs:\n  test:\n    services:\n      db:\n        image: postgres:15\n"
        "    steps:\n"
        "      - run: pip install -e .[test]\n      - run: |\n          export A=1\n"
        "          pytest -x tests\n"
    ),
    "Procfile": "web: gunicorn notes.wsgi --bind 0.0.0.0:$PORT\nworker: celery -A notes worker\n",
    "docker-compose.yml": (
        "services:\n  web:\n    build: .\n    ports:\n      - '8000:8000'\n"
        "  cache:\n    image: redis:7\n"
    ),
}


def write(folder: Path, files: dict[str, str]) -> Path:
    """Writes `files` below `folder`."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def git(folder: Path, *arguments: str) -> str:
    """git in `folder`, as somebody, with no settings of this machine."""
    env = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        **{
            f"GIT_{who}_{what}": "a@b.example"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        },
    }
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def committed(folder: Path, files: dict[str, str]) -> str:
    """`files` as the first commit of a git repository in `folder`; the commit."""
    write(folder, files)
    git(folder, "init", "-q", ".")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return git(folder, "rev-parse", "HEAD")


def tarball(path: Path, members: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    """A tar with exactly these members."""
    with tarfile.open(path, "w:gz") as archive:
        for member, data in members:
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def member(name: str, **values: object) -> tarfile.TarInfo:
    """A member of a tar."""
    made = tarfile.TarInfo(name)
    for key, value in values.items():
        setattr(made, key, value)
    return made
