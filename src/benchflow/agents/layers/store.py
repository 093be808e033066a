"""Where layers are, and which are there: `<benchflow home>/agents/<name>/<version>-<digest>`.

The digest is that of the recipe (what the lock and the catalogue say), so a layer's folder is known
before it is made. `layer.json` in it is written last: a folder without it was never finished.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from dataclasses import asdict, dataclass
from pathlib import Path

from benchflow.agents.layers.catalogue import AgentSpec, find
from benchflow.agents.layers.lock import AgentLock, read_lock
from benchflow.base.home import home
from benchflow.errors import InfrastructureError

RECORD = "layer.json"
#: Raise it when `install` makes something else from the same lock.
RECIPE = 1


@dataclass(frozen=True)
class Layer:
    """A finished layer. `content` is the digest of its files, `megabytes` what they take."""

    agent: str
    version: str
    path: Path
    content: str
    megabytes: float
    seconds: float
    runtime: dict[str, str]

    @property
    def id(self) -> str:
        """`<name>/<version>-<digest>`: what a trial records, and where the layer is found."""
        return f"{self.agent}/{self.path.name}"


def root() -> Path:
    """The folder of all layers."""
    return home() / "agents"


def locked(spec: AgentSpec) -> AgentLock:
    """What the lock says of the agent. Raises InfrastructureError when it says nothing."""
    locks = read_lock()
    if spec.name not in locks:
        raise InfrastructureError(
            f"no version of {spec.name} is locked", hint=f"benchflow agents update {spec.name}"
        )
    return locks[spec.name]


def place(spec: AgentSpec, lock: AgentLock) -> Path:
    """Where the layer of that lock belongs."""
    made_of = {
        "recipe": RECIPE,
        "inside": spec.inside,
        "launchers": spec.launchers,
        "runtime": asdict(spec.runtime) if spec.runtime else None,
        "lock": lock.as_json(),
    }
    key = hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()
    return root() / spec.name / f"{lock.version}-{key[:12]}"


def locked_id(spec: AgentSpec) -> tuple[str, str]:
    """`Layer.id` and version of the locked version's layer, which need not be there.

    Raises InfrastructureError when the lock says nothing of the agent.
    """
    lock = locked(spec)
    return f"{spec.name}/{place(spec, lock).name}", lock.version


def installed(spec: AgentSpec) -> Layer | None:
    """The layer of the locked version, when it is there."""
    return read(place(spec, locked(spec)))


def layer_of(identity: str) -> Layer:
    """The layer with that `Layer.id`. Raises InfrastructureError when it is not there."""
    name, _, folder = identity.partition("/")
    spec = find(name)
    if not folder or Path(folder).name != folder:
        raise InfrastructureError(f"{identity!r} does not name an agent layer")
    layer = read(root() / spec.name / folder)
    if layer is None:
        raise InfrastructureError(
            f"the agent layer {identity} is not installed",
            hint=f"benchflow agents install {name}",
        )
    return layer


def read(path: Path) -> Layer | None:
    """The finished layer in that folder, if one is."""
    try:
        record = json.loads((path / RECORD).read_text())
    except FileNotFoundError:
        return None
    return Layer(path=path, **record)


def all_layers() -> list[Layer]:
    """Every finished layer on this machine, older versions too."""
    folders = sorted(root().glob(f"[!.]*/[!.]*/{RECORD}"))
    return [layer for layer in (read(folder.parent) for folder in folders) if layer]


def measure(path: Path) -> tuple[str, float]:
    """A digest of what is in the folder (names, modes, targets, data), and its size in MB.

    `layer.json` is left out: it holds the digest.
    """
    total = hashlib.sha256()
    allocated = 0
    for directory, folders, files in os.walk(path):
        folders.sort()
        for name in sorted(files + [f for f in folders if Path(directory, f).is_symlink()]):
            file = Path(directory, name)
            relative = file.relative_to(path).as_posix()
            if relative == RECORD:
                continue
            info = file.lstat()
            allocated += info.st_blocks * 512
            if stat.S_ISLNK(info.st_mode):
                content = f"l {file.readlink()}"
            else:
                with file.open("rb") as reader:
                    content = hashlib.file_digest(reader, "sha256").hexdigest()
            total.update(f"{relative}\0{stat.S_IMODE(info.st_mode):o}\0{content}\0".encode())
    return total.hexdigest(), round(allocated / 1e6, 1)
