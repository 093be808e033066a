"""A registry that is drawn for one verification, and what an installer has to make of it."""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import io
import json
import random
import subprocess
import tarfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import unquote

from asked_server import LoopbackServer
from bench import HOST

from benchflow.bench.other_draws import never_twice
from benchflow.boot import VerifierBroken


def sri(data: bytes) -> str:
    return "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()


@dataclass
class Version:
    """One version of a package; `files` are (content, executable) by path."""

    name: str
    version: str
    dependencies: dict[str, str] = field(default_factory=dict)
    optional: dict[str, str] = field(default_factory=dict)
    peer: dict[str, str] = field(default_factory=dict)
    bin: dict[str, str] = field(default_factory=dict)
    files: dict[str, tuple[bytes, bool]] = field(default_factory=dict)
    archive: bytes = b""

    @property
    def manifest(self) -> dict:
        told: dict = {"name": self.name, "version": self.version}
        if self.dependencies:
            told["dependencies"] = self.dependencies
        if self.optional:
            told["optionalDependencies"] = self.optional
        if self.peer:
            told["peerDependencies"] = self.peer
        if self.bin:
            told["bin"] = self.bin
        told["scripts"] = dict.fromkeys(
            ("preinstall", "install", "postinstall"), "touch /tmp/a-script-was-run; exit 0"
        )
        return told

    def pack(self, rng: random.Random) -> Version:
        """The archive, as npm makes them, with the folder of some name."""
        self.files["package.json"] = (json.dumps(self.manifest, indent=2).encode(), False)
        entries = list(self.files.items())
        rng.shuffle(entries)
        form = rng.choice((tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT, tarfile.GNU_FORMAT))
        top = rng.choice(("package", "package", self.name.rpartition("/")[2]))
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=form) as archive:
            if rng.random() < 0.5:
                entry = tarfile.TarInfo(top)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(entry)
            for path, (data, executable) in entries:
                entry = tarfile.TarInfo(f"{top}/{path}")
                entry.size, entry.mode = len(data), 0o755 if executable else 0o644
                entry.mtime = 499162500
                archive.addfile(entry, io.BytesIO(data))
        self.archive = gzip.compress(out.getvalue(), 6)
        return self


class Universe:
    """Packages of drawn names, which ask for each other by ranges of all forms."""

    def __init__(self, rng: random.Random, node: str = "node") -> None:
        self.rng, self.node = rng, node
        self.word = never_twice(
            lambda: "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(4, 9)))
        )
        self.packages: dict[str, dict[str, Version]] = {}
        self.tags: dict[str, dict[str, str]] = {}
        self.wanted: dict[str, str] = {}
        self.wanted_optional: dict[str, str] = {}
        self._draw()

    def _draw(self) -> None:
        rng = self.rng
        names = [self.word() for _ in range(11)] + [
            f"@{self.word()}/{self.word()}" for _ in range(2)
        ]
        for name in names:
            numbers = sorted(
                {self._number() for _ in range(rng.randint(4, 7))} | {(1, 0, 0, ""), (2, 0, 0, "")}
            )
            made = {}
            for number in numbers:
                text = ".".join(map(str, number[:3])) + (f"-{number[3]}" if number[3] else "")
                made[text] = self._version(name, text)
            self.packages[name] = made
            plain = [text for text in made if "-" not in text]
            self.tags[name] = {
                "latest": plain[-1],
                rng.choice(("next", "beta")): rng.choice(list(made)),
            }
        for at, name in enumerate(names):
            for version in self.packages[name].values():
                others = [
                    other
                    for other in rng.sample(names, rng.randint(0, 3))
                    if names.index(other) > at
                ]
                version.dependencies = {other: self._range(other) for other in others}
                if rng.random() < 0.3:
                    version.peer[self.word()] = "*"
        # Two that need each other, and two versions of one name.
        for version in self.packages[names[-3]].values():
            version.dependencies[names[0]] = "*"
        last, first = names[-1], self.packages[names[0]]
        for text, version in first.items():
            version.dependencies[last] = "1.0.0" if text < "2" else "2.0.0"
        for version in self.packages[names[1]].values():
            version.dependencies[last] = "1.0.0"
        self.wanted = {name: self._range(name) for name in names[2:8]} | {
            names[0]: "^2.0.0 || 2",
            names[1]: "*",
        }
        self.wanted[names[-1]] = "2.0.0"
        self.wanted_optional = {self.word(): "1", names[3]: self.wanted.pop(names[3], "*")}
        # One that nothing fits, and that no other word of the same package asks for.
        for made in self.packages.values():
            for version in made.values():
                free = [name for name in names if name not in version.dependencies]
                if rng.random() < 0.2:
                    version.optional[rng.choice(free)] = "9.9.9"
        fits = self.needed()
        for made in self.packages.values():
            for version in made.values():
                # A range below a prerelease may fit nothing.
                for name, range_ in version.dependencies.items():
                    if (name, range_) not in fits:
                        version.dependencies[name] = "*"
                version.pack(rng)
        for name, range_ in self.wanted.items():
            if (name, range_) not in fits:
                self.wanted[name] = "*"

    def _number(self) -> tuple[int, int, int, str]:
        rng = self.rng
        return (
            rng.randint(0, 3), rng.randint(0, 12), rng.randint(0, 3),
            rng.choice(("", "", "", "beta.2", "beta.10", "rc.1", "alpha")),
        )  # fmt: skip

    def _version(self, name: str, text: str) -> Version:
        rng = self.rng
        made = Version(name, text)
        made.files["index.js"] = (
            f"module.exports = '{name} {text} {self.word()}';\n".encode(),
            False,
        )
        for _ in range(rng.randint(0, 3)):
            made.files[f"lib/{self.word()}.js"] = (rng.randbytes(rng.randint(0, 3000)), False)
        if rng.random() < 0.3:
            made.files[f"{self.word()}/" * 12 + "x" * 90 + ".txt"] = (b"a long path", False)
        if rng.random() < 0.4:
            command = self.word()
            made.bin = {command: "./bin/run.js"}
            made.files["bin/run.js"] = (
                f"#!/bin/skarn\nconsole.log('{command}');\n".encode(),
                rng.random() < 0.5,
            )
        return made

    def _range(self, name: str) -> str:
        """A range that something fits."""
        rng = self.rng
        made = self.packages.get(name)
        if not made:
            return "*"
        text = rng.choice([text for text in made if "-" not in text] + list(made))
        major, minor, patch = text.partition("-")[0].split(".")
        return rng.choice(
            (
                f"^{text}", f"~{text}", text, f">={text}", f"<={text}", f"={text}", f"v{text}",
                f"{major}.x", f"{major}", f"{major}.{minor}", f"~{major}", "*",
                f"^{major}.x || 0.0.x", f"> 0.0.0 <= {text}", f"^{major}.{minor} || >=9",
                f">={text} <{int(major) + 1}", f"{text} || ^{major}.{minor}.{patch}",
                f"{major}.{minor}.{patch} - {int(major) + 1}", rng.choice(list(self.tags[name])),
            )
        )  # fmt: skip

    # -- what has to come of it -------------------------------------------------------------------

    def resolve(self, asked: list[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """For each name and range a dist-tag's version, or the highest that node-semver admits."""
        found, open_ = {}, []
        for name, range_ in asked:
            if range_ in self.tags.get(name, {}):
                found[name, range_] = self.tags[name][range_]
            else:
                open_.append([name, range_, list(self.packages.get(name, {}))])
        script = (
            "const semver = require('/usr/share/nodejs/semver'); let text = '';"
            "process.stdin.on('data', (d) => (text += d)).on('end', () => "
            "console.log(JSON.stringify("
            "JSON.parse(text).map(([, range, all]) => semver.maxSatisfying(all, range)))))"
        )
        if self.node != "node":
            script = script.replace("/usr/share/nodejs", "/work/q/node18/sh")
        done = subprocess.run(
            [self.node, "-e", script],
            input=json.dumps(open_),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise VerifierBroken(f"node-semver: {done.stderr[-500:]}")
        for (name, range_, _), version in zip(open_, json.loads(done.stdout), strict=True):
            if version:
                found[name, range_] = version
        return found

    def needed(self) -> dict[tuple[str, str], str]:
        """For each name and range that is asked for by what is needed: the version."""
        asked = {
            (n, r)
            for made in self.packages.values()
            for v in made.values()
            for n, r in (v.dependencies | v.optional).items()
        }
        asked |= set(self.wanted.items()) | set(self.wanted_optional.items())
        return self.resolve(sorted(asked))

    @property
    def manifest(self) -> dict:
        return {
            "name": "site", "version": "0.0.0",
            "dependencies": self.wanted, "optionalDependencies": self.wanted_optional,
            "devDependencies": {"never-asked-for": "1"}, "peerDependencies": {"nor-this": "1"},
        }  # fmt: skip

    def grow(self) -> None:
        """Newer versions of everything."""
        for name, made in self.packages.items():
            last = made[self.tags[name]["latest"]]
            major, minor, patch = last.version.split(".")
            for text in (f"{major}.{minor}.{int(patch) + 1}", f"{int(major) + 1}.0.0"):
                if text not in made:
                    new = self._version(name, text)
                    new.dependencies = dict(last.dependencies)
                    made[text] = new.pack(self.rng)
            self.tags[name]["latest"] = f"{int(major) + 1}.0.0"


class Registry:
    """Serves a universe on the loopback; `asked` are the paths in order. `faults`: by path, what is
    done in place of an answer."""

    def __init__(self, universe: Universe) -> None:
        self.universe = universe
        self.asked: list[str] = []
        self.faults: dict[str, Callable[[BaseHTTPRequestHandler, bytes], None]] = {}
        self.changed: dict[str, bytes] = {}
        self.when: Callable[[str], None] = lambda _: None
        self.end = threading.Event()
        self._server = LoopbackServer(("127.0.0.1", 0), _handler(self))
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    host = HOST

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @staticmethod
    def place(name: str, version: str) -> str:
        return f"/archives/{hashlib.sha1(name.encode()).hexdigest()[:8]}/{version}.tgz"

    def packument(self, name: str) -> dict | None:
        made = self.universe.packages.get(name)
        if not made:
            return None
        versions = {}
        for text, version in made.items():
            dist = {"tarball": self.url + self.place(name, text), "integrity": sri(version.archive)}
            dist["shasum"] = hashlib.sha1(version.archive).hexdigest()
            versions[text] = version.manifest | {"dist": dist}
        return {"name": name, "dist-tags": self.universe.tags[name], "versions": versions}

    def body(self, path: str) -> bytes | None:
        """What is at a path."""
        if path in self.changed:
            return self.changed[path]
        if path.startswith("/archives/"):
            for name, made in self.universe.packages.items():
                for text, version in made.items():
                    if path == self.place(name, text):
                        return version.archive
            return None
        told = self.packument(path[1:])
        return None if told is None else json.dumps(told).encode()

    def calm(self) -> None:
        self.faults, self.changed, self.asked, self.when = {}, {}, [], lambda _: None

    def close(self) -> None:
        self.end.set()
        self._server.shutdown()
        self._server.server_close()


def _handler(registry: Registry) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def do_GET(self) -> None:
            path = unquote(self.path[:500])
            if len(registry.asked) < 20_000:
                registry.asked.append(path)
            registry.when(path)
            body = registry.body(path)
            if path in registry.faults:
                registry.faults[path](self, body or b"")
                return
            self.answer(
                200 if body is not None else 404,
                body if body is not None else b'{"error":"not found"}',
            )

        def answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing on standard error."""

    return Handler


# -- faults --------------------------------------------------------------------------------------


def cut(handler, body: bytes) -> None:
    handler.wfile.write(
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body[: len(body) // 2]
    )
    handler.close_connection = True


def hang(registry: Registry):
    def silent(handler, body: bytes) -> None:
        handler.wfile.write(
            b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body[: len(body) // 3]
        )
        registry.end.wait(60)
        handler.close_connection = True

    return silent


def nonsense(handler, body: bytes) -> None:
    handler.answer(200, b'{"versions": [1, {"x": ]')


def unavailable(times: int):
    """503 so many times, then well."""
    left = [times]

    def busy(handler, body: bytes) -> None:
        with contextlib.suppress(OSError):
            if left[0] > 0:
                left[0] -= 1
                handler.answer(503, b"later")
            else:
                handler.answer(200, body)

    return busy
