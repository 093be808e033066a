"""What a list and its parcels must become (LIST.md)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from parcel import Parcel

from benchflow.bench.tar_canon import DIRECTORY, FILE, HARDLINK, SYMLINK, Member

_TYPES = {"dir": DIRECTORY, "file": FILE, "symlink": SYMLINK, "hardlink": HARDLINK}


@dataclass(frozen=True)
class Layer:
    """A layer of a list: `steps` are ("package", name, version) and ("remove", path)."""

    name: str
    steps: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Order:
    """A list. `labels` are pairs."""

    ref: str
    epoch: int
    user: str
    workdir: str
    env: tuple[str, ...]
    entrypoint: tuple[str, ...]
    cmd: tuple[str, ...]
    labels: tuple[tuple[str, str], ...]
    layers: tuple[Layer, ...]

    @property
    def packages(self) -> list[tuple[str, str]]:
        """(name, version) of every package, in order."""
        steps = [step for layer in self.layers for step in layer.steps]
        return [(step[1], step[2]) for step in steps if step[0] == "package"]

    def text(self) -> str:
        """The list as a file."""
        rows = [("list", "1"), ("ref", self.ref), ("epoch", str(self.epoch))]
        rows += [("user", self.user), ("workdir", self.workdir)]
        rows += [("env", value) for value in self.env]
        rows += [("entrypoint", word) for word in self.entrypoint]
        rows += [("cmd", word) for word in self.cmd]
        lines = ["\t".join(row) for row in rows]
        lines += ["\t".join(("label", *pair)) for pair in self.labels]
        for layer in self.layers:
            lines += ["", f"# {layer.name}", f"layer\t{layer.name}"]
            lines += ["\t".join(step) for step in layer.steps]
        return "\n".join(lines) + "\n"

    def configuration(self, diff_ids: list[str]) -> dict[str, Any]:
        """The image's configuration."""
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.epoch))
        config = {
            "User": self.user, "WorkingDir": self.workdir, "Env": list(self.env),
            "Entrypoint": list(self.entrypoint), "Cmd": list(self.cmd),
            "Labels": dict(self.labels),
        }  # fmt: skip
        return {
            "created": created,
            "architecture": "amd64",
            "os": "linux",
            "config": {key: value for key, value in config.items() if value},
            "rootfs": {"type": "layers", "diff_ids": diff_ids},
            "history": [
                {"created": created, "created_by": f"layer {layer.name}"} for layer in self.layers
            ],
        }


def parse(text: str) -> Order:
    """A list that is known to be right."""
    rows = [tuple(row.split("\t")) for row in text.splitlines() if row and row[0] != "#"]
    layers: list[tuple[str, list[tuple[str, ...]]]] = []
    for row in rows:
        if row[0] == "layer":
            layers.append((row[1], []))
        elif row[0] in ("package", "remove"):
            layers[-1][1].append(row)

    def every(word: str) -> tuple[str, ...]:
        return tuple(row[1] for row in rows if row[0] == word)

    return Order(
        every("ref")[0], int(every("epoch")[0]), every("user")[0], every("workdir")[0],
        every("env"), every("entrypoint"), every("cmd"),
        tuple((row[1], row[2]) for row in rows if row[0] == "label"),
        tuple(Layer(name, tuple(steps)) for name, steps in layers),
    )  # fmt: skip


def layers(order: Order, parcels: Mapping[str, Parcel]) -> list[list[Member]]:
    """The members of each layer, in their order. Only for lists that need not be refused."""
    state: dict[str, Member] = {}
    result = []
    for layer in order.layers:
        own: dict[str, Member] = {}
        for step in layer.steps:
            if step[0] == "remove":
                path = step[1]
                for known in [p for p in state if p == path or p.startswith(f"{path}/")]:
                    del state[known]
                folder, _, last = path.rpartition("/")
                name = f"{folder}/.wh.{last}" if folder else f".wh.{last}"
                own[name] = Member(name, FILE, 0o644, 0, 0, order.epoch)
        for step in layer.steps:
            if step[0] != "package":
                continue
            for entry in parcels[step[1]].entries:
                if entry.kind == "dir" and entry.path in state:
                    continue
                made = Member(
                    entry.path, _TYPES[entry.kind], entry.mode, entry.uid, entry.gid,
                    order.epoch, entry.target, entry.data,
                )  # fmt: skip
                state[entry.path] = own[entry.path] = made
        result.append(sorted(own.values(), key=lambda member: member.name.encode()))
    return result


def difference(found: list[Member], wanted: list[Member]) -> str:
    """Where two layers differ, in one line; "" when they do not."""
    for have, want in zip(found, wanted, strict=False):
        if have.said != want.said:
            return f"{have.said} where {want.said} should be"
        if have.data != want.data:
            return f"{have.name} has other content"
    if len(found) != len(wanted):
        names = {m.name for m in found} ^ {m.name for m in wanted}
        return f"{len(found)} members, not {len(wanted)}: {sorted(names)[:5]}"
    return ""
