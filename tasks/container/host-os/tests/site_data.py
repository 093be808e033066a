"""The carriers: images with words of this run, declarations, and what is wrong with some."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

import false_images
import programs

from benchflow.bench.oci_writer import Layer, LayerFile, LayoutWriter, simple
from benchflow.boot.inspect.bounded_run import run_tool

FORMAT = "holmen-site-1"
SERVE = {"Entrypoint": ["/serve"], "Env": ["COLOUR=red", "TIDE=low"]}
RUNNING = ("web", "layers", "ledger", "eater", "flood")
#: [R8] The longest name.
DONE = f"done-{secrets.token_hex(13)}"
#: Runs at `steady` before one that is long, and how long that is: it begins a new row. [R24]
QUICK, LONG = 5, 33
ARM = {"os": "linux", "architecture": "arm64"}
SHORT = 1 + secrets.randbelow(120)
STEADY = (
    "n=0; [ ! -e /keep/n ] || read -r n </keep/n; echo $((n+1)) >/keep/n;"
    " read -r up rest </proc/uptime; echo at $up $n;"
    f" [ $n != {QUICK} ] || sleep {LONG}; read -r up rest </proc/uptime; echo end $up; exit 1"
)


def words(*names: str) -> dict[str, str]:
    return {name: secrets.token_hex(12) for name in names}


class Site:
    """All that lies on the carriers, under names of this run where a guest could know them."""

    def __init__(self, busybox: bytes, folder: Path) -> None:
        self.folder = folder
        self.words = words(
            "base", "web", "layers", "old", "env", "args", "err", "flood", "hostile", "ledger",
            "left", "accounts",
        )  # fmt: skip
        self.few, self.codes = 1 + secrets.randbelow(3), [1 + secrets.randbelow(120) for _ in "ab"]
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
        # Without a reference the first that fits is meant.
        layout = LayoutWriter()
        other = {"Cmd": ["/bin/sleep", "999"]}
        layout.names(layout.image([top], other, platform=("linux", "arm64")), platform=ARM)
        right = layout.image([self.base, top], config)
        layout.names(right)
        layout.names(layout.image([self.base], other))
        self._write("web", layout)
        self.digests["web"] = str(right["digest"])
        config = {**SERVE, "User": "77:78", "StopSignal": f"SIG{programs.ASKED}"}
        self._write("quits", simple([self.base], config))
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
            {**wrong, "platform": ARM},
            {**right, "platform": {"os": "linux", "architecture": "amd64"}},
        ])  # fmt: skip
        inner = layout.index([{**wrong, "platform": ARM}, inner])
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
        # A device that everybody may write on: the console of the host.
        device = false_images.device("t/serial", 4, 64)
        config = {"Cmd": ["/bin/sh", "-c", f"echo {name} >/t/serial && echo wrote; sleep 9999"]}
        self._write("hostile6", simple([self.base, device], config))
        # What is removed on the host, where `left` lies by then; in `next` alone.
        gone = f".wh.{self.words['left']}"
        for number, files in enumerate((
            [(f"{out}tmp/{gone}", LayerFile())],
            [("a", LayerFile(link="/tmp")), (f"a/{gone}", LayerFile())],
            [("b", LayerFile(link=f"{out}tmp")), (f"b/{gone}", LayerFile())],
        ), 7):  # fmt: skip
            self._write(f"hostile{number}", simple([Layer.of(files)], {"Cmd": ["/a"]}))

    def _refused(self) -> None:
        """Entries that cannot be run, with the reason that is due."""
        for name, layout in false_images.all_of(self.words["accounts"]).items():
            self._write(name, layout)
            self.refused[name] = "digest" if name.startswith("d-") else "image"
        (self.folder / "images/i-marker/oci-layout").unlink()
        marker = self.folder / "images/i-version/oci-layout"
        marker.write_text('{"imageLayoutVersion": "2.0.0"}')
        self.refused["i-missing"] = "image"

    # -- declarations -------------------------------------------------------------------------

    def _wrong(self) -> dict[str, object]:
        """Entries that are not well-formed."""
        web = {"image": "images/web"}
        failure = {"policy": "on-failure"}
        wrong = [
            # Its port is flood's, whose name is a later one: an entry like this declares nothing.
            {**web, "colour": "red", "ports": {"8005": programs.PORT}},
            *({**web, "memory_mb": one} for one in (3, 4097, "64", 64.5, None)),
            *({**web, "pids": one} for one in (0, 4097, True)),
            *({**web, "cpu_percent": one} for one in (0, 101, "20")),
            *({**web, "ref": one} for one in (7, None, "a\0b")),
            *({**web, "args": one} for one in ("x", None, ["a", 1], ["a\0b"])),
            *({**web, "env": one} for one in ({"A": 1}, {"A": "a\0"}, ["A=1"])),
            *({**web, "restart": one} for one in (
                "always", {"policy": "often"}, {"policy": "always", "max": 3},
                {"policy": "never", "max": 1}, {"policy": "always", "tries": 1},
                {**failure, "max": -1}, {**failure, "max": 1001}, {**failure, "max": "3"})),
            *({**web, "ports": one} for one in (
                {"0": 80}, {"65536": 80}, {"http": 80}, {"8009": "80"}, {"8009": 0},
                {"8009": 65536}, {"8009": True}, [8009])),
            *({**web, "reach": one} for one in (
                {"9000": "web"}, {"0": "web:80"}, {"9000": "Web:80"}, {"9000": "web:0"},
                {"9000": "web:65536"}, {"9000": ["web", 80]})),
            *({**web, "volumes": one} for one in (
                {"Log": "/x"}, {"l" * 32: "/x"}, {"log": "/a/../../b"}, {"log": "/"},
                {"log": "keep"}, {"log": "/a\0b"}, ["log"])),
            *({"image": one} for one in (
                "images/../../data", "/carrier/images/web", "images/web\0", ["images/web"])),
            {}, [web], None,
        ]  # fmt: skip
        return {f"e-{number}": one for number, one in enumerate(wrong)}

    def _first(self) -> dict[str, object]:
        word = self.words
        shell = {"image": "images/shell", "restart": {"policy": "never"}}
        wrong = self._wrong()
        ports = {
            "y-port": {"image": "images/web", "ports": {"8009": programs.PORT, "8001": 80}},
            # `y-port` is refused, and declares 8009 all the same; so does what cannot be read.
            "z-port": {"image": "images/web", "ports": {"8009": programs.PORT}},
            "z-first": {"image": "images/i-missing", "ports": {"8001": 80}},
            "z-image": {"image": "images/web", "ports": {"8003": programs.PORT}},
        }  # fmt: skip
        self.refused |= dict.fromkeys(wrong, "entry") | dict.fromkeys(ports, "port")
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
                "env": {"STAY": "1"},
            },
            "flood": {
                "image": "images/quits", "ports": {"8005": programs.PORT}, "cpu_percent": 40,
                "args": [
                    f"trap '' {programs.ASKED} TERM; (while [ ! -e /tmp/go ]; do sleep 1; done;"
                    f" yes {word['flood']} | head -c 24m; echo; echo end of flood;"
                    " touch /tmp/gone) &"
                ],
            },
            "once": {
                **shell, "args": ["/bin/sh", "-c", f"echo {word['args']}; echo {word['err']} >&2;"
                                  f" exit {self.codes[0]}"],
            },
            # The largest of all that can be said.
            "cmd": {**shell, "memory_mb": 4096, "pids": 4096, "cpu_percent": 100,
                    "ports": {"65535": 65535}, "reach": {"65535": "nobody:65535"}},
            DONE: {**crash, "args": ["/bin/sh", "-c", "exit 0"],
                   "restart": {"policy": "on-failure", "max": 1000}},
            "few": {**crash, "args": ["/bin/sh", "-c", f"{up}exit {self.codes[1]}"],
                    "restart": {"policy": "on-failure", "max": self.few}},
            "zero": {**crash, "args": ["/bin/sh", "-c", up + "exit 3"],
                     "restart": {"policy": "on-failure", "max": 0}},
            "always": {**crash, "args": ["/bin/sh", "-c", up + "exit 0"]},
            "steady": {**crash, "args": ["/bin/sh", "-c", STEADY], "volumes": {"n": "/keep"}},
            **{f"hostile{n}": {**shell, "image": f"images/hostile{n}"} for n in range(7)},
            **wrong, **ports,
        }  # fmt: skip
        for name in self.refused:
            if name not in containers:
                containers[name] = {"image": f"images/{name}"}
        containers["i-ref"] = {"image": "images/i-ref", "ref": "winter"}
        containers["i-user"] = {"image": "images/i-user", "ports": {"8003": programs.PORT}}
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
        port = {"image": "images/web", "ports": {"8006": programs.PORT, "8003": programs.PORT}}
        short = [
            "/bin/sh",
            "-c",
            f"sleep 20; read -r up rest </proc/uptime; echo at $up; exit {SHORT}",
        ]
        never = {"restart": {"policy": "never"}}
        next_one = self.some(
            "web", "flood", eater=self.changed("eater", memory_mb=32), fresh=port,
            layers=self.changed("layers", colour="red"),
            short={"image": "images/shell", "args": short, **never},
            # Well-formed, without its volume.
            steady={"image": "images/i-missing"},
            **{f"hostile{n}": {"image": f"images/hostile{n}", **never} for n in range(7, 10)},
        )  # fmt: skip
        names = ("Web", "1web", "-web", "we_b", "web\n", "w" * 32, "")
        return {
            "next": next_one,
            self.words["accounts"]: b"pilot:x:5:6::/:/bin/sh\n",
            **{f"bad-name{n}": self.some("web", **{name: port}) for n, name in enumerate(names)},
            "bad-json": b'{"format": "holmen-site-1", "containers": {}',
            "bad-format": {"format": "holmen-site-2", "containers": {}},
            "bad-key": {"format": FORMAT, "containers": {}, "more": 1},
            "bad-list": {"format": FORMAT, "containers": []},
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
