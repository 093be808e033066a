"""A station with the delivered program: composed, started, asked."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from ordered import CONF, STATE, WORD

from benchflow.boot import Machine

#: What tells what lies below some folders: started once, for each start of Python takes a second.
_LISTER = r"""
import hashlib, os, stat, sys
def tell(path, out):
    if path in sys.argv[1:]:
        return
    info = os.lstat(path)
    kinds = {stat.S_IFREG: "f", stat.S_IFDIR: "d", stat.S_IFLNK: "l"}
    kind = kinds.get(stat.S_IFMT(info.st_mode), "?")
    text = ""
    if kind == "l":
        text = os.readlink(path)
    elif kind == "f":
        with open(path, "rb") as file:
            text = hashlib.sha256(file.read()).hexdigest()[:20]
    mode = 0o777 if kind == "l" else stat.S_IMODE(info.st_mode)
    print(kind, "%04o" % mode, info.st_uid, info.st_gid, text or "-", path, sep="\t",
          file=out)
    if kind == "d":
        for name in sorted(os.listdir(path)):
            tell(path + "/" + name, out)
for name in ("/run/ask", "/run/told"):
    os.mkfifo(name)
while True:
    with open("/run/ask") as file:
        tops = file.read().split()
    with open("/run/told", "w") as file:
        try:
            for top in tops:
                if os.path.lexists(top):
                    tell(top, file)
            print("all", file=file)
        except OSError as error:
            print(error, file=file)
"""
MB = 112
PROGRAM = f"/usr/bin/{WORD}"
#: Where packages install something, and what there is not looked at.
TOPS = ("/opt", "/srv", "/etc", "/usr/local", "/var/marks")
WITHOUT = ("/etc/passwd", "/etc/group", "/etc/passwd-", "/etc/group-", CONF, STATE)


def compose(tar: Path, program: Path, image: Path) -> None:
    """The disk of a station that has the program."""
    tree = image.with_suffix(".tree")
    tree.mkdir()
    subprocess.run(["tar", "-xpf", tar, "-C", tree, "--same-owner"], check=True)
    (tree / PROGRAM[1:]).write_bytes(program.read_bytes())
    (tree / PROGRAM[1:]).chmod(0o755)
    (tree / "var/marks").mkdir()
    with image.open("wb") as file:
        file.truncate(MB << 20)
    command = ["mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-d", tree, image]
    subprocess.run(command, check=True, capture_output=True)
    subprocess.run(["rm", "-rf", tree], check=True)


class Station:
    """The machine, asked on its console; `run` gives status, standard output and error."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def start(self) -> None:
        self.machine.boot()
        self.enter()

    def enter(self) -> None:
        self.machine.attach(timeout=240)
        self.write("/run/bench.py", _LISTER)
        without = " ".join(map(shlex.quote, WITHOUT))
        self.run(f"setsid python3 -IS /run/bench.py {without} < /dev/null > /dev/null 2>&1 &")
        self.run("while [ ! -p /run/told ]; do sleep 0.2; done", 60)

    def run(self, command: str, seconds: float = 60) -> tuple[int, str, str]:
        done = self.machine.shell.run_apart(command, timeout=seconds)
        return done.status, done.stdout, done.stderr

    def write(self, path: str, text: str) -> None:
        self.machine.shell.write_file(path, text.encode())

    def tree(self) -> str:
        """A line for each file, folder and link below TOPS."""
        _, said, _ = self.run(f"echo {' '.join(TOPS)} > /run/ask; cat /run/told", 120)
        rows, _, end = said.rstrip("\n").rpartition("\n")
        assert end == "all", f"the station's files cannot be looked at: {said[-300:]!r}"
        return rows

    def configure(self, text: str) -> None:
        self.run(f"mkdir -p {shlex.quote(str(Path(CONF).parent))}")
        self.write(CONF, text)
