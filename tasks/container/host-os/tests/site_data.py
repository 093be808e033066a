"""The carriers: images with words of this run, declarations, and what is wrong with some."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

import programs

from benchflow.bench.oci_writer import CONFIG, INDEX, Layer, LayerFile, LayoutWriter, digest, simple
from benchflow.boot.inspect.bounded_run import run_tool

FORMAT = "holmen-site-1"
SERVE = {"Entrypoint": ["/serve"], "Env": ["COLOUR=red", "TIDE=low"]}
RUNNING = ("web", "layers", "ledger", "eater", "flood")


def words(*names: str) -> dict[str, str]:
    return {name: secrets.token_hex(12) for name in names}


class Site:
    """All that lies on the carriers, under names of this run where a guest could know them."""

    def __init__(self, busybox: bytes, folder: Path) -> None:
        self.folder = folder
        self.words = words(
            "base", "web", "layers", "old", "env", "args", "flood", "hostile", "ledger"
        )
        self.base = programs.base(busybox, self.words["base"])
        self.digests: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        self._images()
        self._refused()
        self.first = self._first()

    # -- images -------------------------------------------------------------------------------

    def _write(self, name: str, layout: LayoutWriter) -> None:
        layout.write(self.folder / "images" / name)
        self.digests[name] = str(layout.entries[0]["digest"])

    def _images(self) -> None:
        word = self.words
        top = Layer.of([("word", LayerFile(word["web"].encode()))])
        config = {
            **SERVE, "Cmd": ["echo never"], "WorkingDir": "/www", "User": "clerk:wheel",
            "ExposedPorts": {"1/tcp": {}},
        }  # fmt: skip
        self._write("web", simple([self.base, top], config))
        self._write(
            "quits", simple([self.base], {**SERVE, "User": "77:78", "StopSignal": "SIGQUIT"})
        )
        self._write("plain", simple([self.base], {**SERVE, "User": "clerk"}, packed=False))
        self._write("shell", simple([self.base], {"Cmd": ["/bin/sh", "-c", "echo cmd"]}))
        self._layers()
        self._hostile()

    def _layers(self) -> None:
        """An image behind a reference and an index, whose layers do all that layers can do."""
        word, text = self.words, lambda value: LayerFile(value.encode())
        folder = LayerFile(mode=0o755, folder=True)
        old = [(f"t/{name}", text(word["old"])) for name in
               ("gone", "again", "late", "shut/a", "shut/b", "deep/er/one", "to-folder", "kept",
                "to-file/inner", "real/first", "with space", "l" * 150, "origin")]  # fmt: skip
        first = [
            ("t", folder), *old,
            ("t/alias", LayerFile(link="/t/real")), ("t/twin", LayerFile(hard="t/origin")),
            ("t/owned", LayerFile(b"x", 0o4751, 12, 34)),
            ("t/mine", LayerFile(mode=0o700, uid=5, folder=True)),
        ]  # fmt: skip
        new = word["layers"]
        second = [
            ("t/again", text(new)), ("t/.wh.again", LayerFile()), ("t/.wh.gone", LayerFile()),
            ("t/shut/new", text(new)), ("t/shut/.wh..wh..opq", LayerFile()),
            ("t/deep/.wh.er", LayerFile()), ("t/to-folder/inner", text(new)),
            ("t/to-file", text(new)),
            ("t/alias/through", text(new)), ("t/third", LayerFile(hard="t/kept")),
            ("./t/dotted", text(new)), ("t/odd-%s'\"$x", text(new)),
        ]  # fmt: skip
        third = [("t/.wh.late", LayerFile()), ("t/mine", LayerFile(mode=0o750, uid=6, folder=True)),
                 ("word", text(new))]  # fmt: skip
        layout = LayoutWriter()
        parts = [self.base, *(Layer.of(files) for files in (first, second, third))]
        right = layout.image(parts, {**SERVE, "User": "0"})
        wrong = layout.image(
            [self.base], {"Cmd": ["/bin/sleep", "999"]}, platform=("linux", "arm64")
        )
        other = layout.image([self.base], {"Cmd": ["/bin/sleep", "999"]})
        inner = layout.index([
            {**wrong, "platform": {"os": "linux", "architecture": "arm64"}},
            {**right, "platform": {"os": "linux", "architecture": "amd64"}},
        ])  # fmt: skip
        layout.names(other, "spring")
        layout.names(inner, "autumn")
        self._write("layers", layout)
        self.digests["layers"] = str(right["digest"])

    def _hostile(self) -> None:
        """Names and links that lead out of the container's tree."""
        name = self.words["hostile"]
        out = "../" * 12
        files = [
            (f"{out}run/{name}", LayerFile(b"out")),
            (f"/tmp/../../../../../../run/{name}", LayerFile(b"out")),
            ("a", LayerFile(link="/run")), (f"a/{name}", LayerFile(b"out")),
            ("b", LayerFile(link=f"{out}run")), (f"b/{name}", LayerFile(b"out")),
            ("stolen", LayerFile(hard=f"{out}etc/shadow")), ("c", LayerFile(link="/etc")),
            ("stolen2", LayerFile(hard="c/shadow")), (f"b/.wh.{name}", LayerFile()),
            ("b/.wh.host", LayerFile()),
        ]  # fmt: skip
        links = [files[2], files[4], files[7]]
        config = {"Cmd": ["/bin/sh", "-c", "cat /stolen /stolen2 /c/shadow; sleep 9999"]}
        for number, one in enumerate(([0], [1], [3], [5, 9, 10], [6], [8])):
            layer = Layer.of([*(links if number > 1 else []), *(files[place] for place in one)])
            layout = simple([self.base, layer] if number > 3 else [layer], config)
            self._write(f"hostile{number}", layout)

    def _refused(self) -> None:
        """Entries that cannot be run, with the reason that is due."""
        small = Layer.of([("a", LayerFile(b"a"))])
        config = {"Entrypoint": ["/a"]}

        def bad(name: str, reason: str, layout: LayoutWriter) -> LayoutWriter:
            self._write(name, layout)
            self.refused[name] = reason
            return layout

        for name in ("d-layer", "d-config", "d-manifest"):
            layout = simple([small], config)
            layer, manifest = digest(small.packed), str(layout.entries[0]["digest"])
            (about,) = set(layout.blobs) - {layer, manifest}
            key = {"d-layer": layer, "d-config": about, "d-manifest": manifest}[name]
            data = bytearray(layout.blobs[key])
            data[len(data) // 2] ^= 1
            layout.blobs[key] = bytes(data)
            bad(name, "digest", layout)
        short = simple([small], config)
        short.blobs[digest(small.packed)] = small.packed[:-3]
        bad("d-short", "digest", short)
        diff = {"type": "layers", "diff_ids": [digest(b"another")]}
        bad("d-diff", "digest", simple([small], config, changed={"rootfs": diff}))
        size = simple([small], config)
        size.entries[0]["size"] = int(str(size.entries[0]["size"])) + 1
        bad("d-size", "digest", size)
        bad("i-user", "image", simple([small], {**config, "User": "nobody-knows"}))
        bad("i-nothing", "image", simple([small], {}))
        bad("i-arm", "image", simple([small], config, platform=("linux", "arm64")))
        bad("i-ref", "image", simple([small], config))
        loose = bad("i-marker", "image", simple([small], config))
        assert loose.entries
        (self.folder / "images/i-marker/oci-layout").unlink()
        layout = LayoutWriter()
        layout.names({**layout.image([small], config), "mediaType": CONFIG})
        bad("i-type", "image", layout)
        layout = LayoutWriter()
        layout.names({**layout.blob(INDEX, b"[]")})
        bad("i-index", "image", layout)
        self.refused["i-missing"] = "image"

    # -- declarations -------------------------------------------------------------------------

    def _wrong(self) -> dict[str, object]:
        """Entries that are not well-formed."""
        web = {"image": "images/web"}
        wrong = [
            {**web, "colour": "red"}, {**web, "memory_mb": 3}, {**web, "memory_mb": "64"},
            {**web, "pids": True}, {**web, "cpu_percent": 0}, {**web, "cpu_percent": 101},
            {**web, "restart": {"policy": "always", "max": 3}},
            {**web, "restart": {"policy": "often"}},
            {**web, "restart": {"policy": "on-failure", "max": -1}}, {**web, "ports": {"0": 80}},
            {**web, "ports": {"8009": "80"}}, {**web, "ports": {"8009": 65536}},
            {**web, "env": {"A": 1}}, {**web, "args": "x"}, {**web, "args": ["a\0b"]},
            {**web, "reach": {"9000": "web"}}, {**web, "volumes": {"Log": "/x"}},
            {**web, "volumes": {"log": "/a/../../b"}}, {**web, "image": "images/../../data"},
            {"image": "/carrier/images/web"}, {}, [web], None,
        ]  # fmt: skip
        return {f"e-{number}": one for number, one in enumerate(wrong)}

    def _first(self) -> dict[str, object]:
        word = self.words
        shell = {"image": "images/shell", "restart": {"policy": "never"}}
        wrong = self._wrong()
        self.refused |= dict.fromkeys(wrong, "entry") | {"z-port": "port"}
        up = "read -r up rest </proc/uptime; echo at $up; "
        crash = {"image": "images/shell", "memory_mb": 8}
        containers: dict[str, object] = {
            "web": {
                "image": "images/web", "args": [f"echo said {word['args']}"],
                "env": {"TIDE": word["env"]}, "ports": {"8001": programs.PORT},
                "reach": {"9000": f"ledger:{programs.PORT}"}, "volumes": {"log": "/keep"},
            },
            "layers": {"image": "images/layers", "ref": "autumn", "ports": {"8002": programs.PORT}},
            "ledger": {"image": "images/plain", "volumes": {"log": "/keep"}},
            "eater": {
                "image": "images/quits", "memory_mb": 24, "pids": 20, "cpu_percent": 20,
                "ports": {"8004": programs.PORT}, "volumes": {"log": "/keep"},
            },
            "flood": {
                "image": "images/quits", "ports": {"8005": programs.PORT}, "cpu_percent": 40,
                "args": [
                    f"trap '' QUIT TERM; (while [ ! -e /tmp/go ]; do sleep 1; done;"
                    f" yes {word['flood']} | head -c 24m; echo; echo end of flood;"
                    " touch /tmp/gone) &"
                ],
            },
            "once": {**shell, "args": ["/bin/sh", "-c", f"echo {word['args']}; exit 7"]},
            "cmd": shell,
            "done": {**crash, "args": ["/bin/sh", "-c", "exit 0"],
                     "restart": {"policy": "on-failure"}},
            "few": {**crash, "args": ["/bin/sh", "-c", up + "exit 3"],
                    "restart": {"policy": "on-failure", "max": 2}},
            "always": {**crash, "args": ["/bin/sh", "-c", up + "exit 0"]},
            "z-port": {"image": "images/web", "ports": {"8009": 80, "8001": 80}},
            **{f"hostile{n}": {**shell, "image": f"images/hostile{n}"} for n in range(6)},
            **wrong,
        }  # fmt: skip
        for name in self.refused:
            if name not in containers:
                containers[name] = {"image": f"images/{name}"}
        containers["i-ref"] = {"image": "images/i-ref", "ref": "winter"}
        return {"format": FORMAT, "containers": containers}

    def some(self, *names: str, **more: object) -> dict[str, object]:
        """A declaration of some containers of the first one, and of others."""
        containers = self.first["containers"]
        assert isinstance(containers, dict)
        return {"format": FORMAT, "containers": {n: containers[n] for n in names} | more}

    def changed(self, name: str, **more: object) -> dict[str, object]:
        containers = self.first["containers"]
        assert isinstance(containers, dict)
        return {**containers[name], **more}

    def others(self) -> dict[str, object]:
        """Declarations that are to be applied, by the names of their files."""
        port = {"image": "images/web", "ports": {"8006": programs.PORT}}
        next_one = self.some(
            "web", "flood", eater=self.changed("eater", memory_mb=32), fresh=port,
            wrong={**port, "colour": "red"},
        )  # fmt: skip
        return {
            "next": next_one,
            "bad-json": b'{"format": "holmen-site-1", "containers": {}',
            "bad-format": {"format": "holmen-site-2", "containers": {}},
            "bad-key": {"format": FORMAT, "containers": {}, "more": 1},
            "bad-list": {"format": FORMAT, "containers": []},
            "bad-name": self.some("web", Web=port),
            "bad-array": b"[]",
        }

    def malformed(self) -> list[bytes]:
        """Lists that are none, as a whole. [R9]"""
        return [
            each if isinstance(each, bytes) else json.dumps(each).encode()
            for name, each in self.others().items()
            if name.startswith("bad-")
        ]

    def carrier(self, path: Path, site: bytes | dict[str, object], **files: object) -> Path:
        """An ext4 disk with the images, site.json, and declarations under other names."""
        (self.folder / "site.json").write_bytes(
            site if isinstance(site, bytes) else json.dumps(site).encode()
        )
        for name, content in files.items():
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            (self.folder / name).write_bytes(data)
        size = sum(f.stat().st_size + 4096 for f in self.folder.rglob("*") if f.is_file())
        done = run_tool(
            ["mke2fs", "-q", "-t", "ext4", "-E", "root_owner=0:0", "-d", str(self.folder),
             str(path),
             f"{(size >> 10) + 16384}k"],
        )  # fmt: skip
        assert done.status == 0, done.complaint
        return path
