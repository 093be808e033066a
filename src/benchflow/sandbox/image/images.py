"""Images: a Dockerfile and its context become a stack of layer directories, once.

buildah builds them, as root of our user namespace and never of the host. Its storage keeps each
layer as a directory in the form that the kernel's overlay file system wants, so that a sandbox
mounts it as it is: nothing is exported, packed or unpacked.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchflow.base.atomic import write_json
from benchflow.errors import TaskError
from benchflow.sandbox import idmap, paths
from benchflow.sandbox.idmap import IdMap
from benchflow.sandbox.image import context, debian_base, dockerfile
from benchflow.sandbox.image.builder import Builder
from benchflow.sandbox.model import Image, ImageConfig

OnProgress = Callable[[str], None]
_FORMAT = "1"  # of the records; a change makes all images anew


def build(
    context_dir: Path | str,
    dockerfile_name: str = "Dockerfile",
    *,
    on_progress: OnProgress | None = None,
) -> Image:
    """The image of `context_dir`/`dockerfile_name`, from the cache when nothing changed.

    `on_progress` gets one line a step while it is built. Raises TaskError when the Dockerfile is
    wrong, InfrastructureError when the mirror, the disk or a tool fails.
    """
    root = Path(context_dir)
    recipe = root / dockerfile_name
    if not recipe.is_file():
        raise TaskError(f"{recipe}: no such file", hint="an environment needs a Dockerfile")
    references = dockerfile.base_references(recipe.read_text(), str(recipe))
    id_map = idmap.current()
    record = _find(root, dockerfile_name, references, id_map)
    if record is not None and (image := _load(record)):
        return image
    progress = on_progress or (lambda line: None)
    with storage(id_map, progress) as builder:
        with _turn(id_map, "bases", progress):
            for reference in references:
                _ensure_base(reference, builder)
        record = _find(root, dockerfile_name, references, id_map)
        assert record is not None
        with _turn(id_map, record.stem[:32], progress):
            if image := _load(record):
                return image
            frozen = builder.place / f"context-{record.stem[:16]}"
            shutil.rmtree(frozen, ignore_errors=True)
            try:
                context.snapshot(root, frozen, id_map)
                context.adapt(frozen, dockerfile_name, id_map)
                if _find(root, dockerfile_name, references, id_map) != record:
                    raise TaskError(f"{root} changed while it was copied", hint="build it again")
                image = builder.build(frozen, dockerfile_name, tag=f"benchflow/{record.stem[:32]}")
            finally:
                shutil.rmtree(frozen, ignore_errors=True)
            builder.share(image)
            _save(record, image)
            return image


def built(context_dir: Path | str, dockerfile_name: str = "Dockerfile") -> Image | None:
    """The image of `context_dir`/`dockerfile_name` where it is made already. Raises TaskError."""
    root = Path(context_dir)
    recipe = root / dockerfile_name
    references = dockerfile.base_references(recipe.read_text(), str(recipe))
    record = _find(root, dockerfile_name, references, idmap.current())
    return None if record is None else _load(record)


def debian(suite: str = "bookworm", *, on_progress: OnProgress | None = None) -> Image:
    """The plain Debian image that `FROM debian:<suite>` starts from."""
    id_map = idmap.current()
    reference = f"debian:{suite}"
    if image := _load(_base_record(reference, id_map)):
        return image
    progress = on_progress or (lambda line: None)
    with storage(id_map, progress) as builder, _turn(id_map, "bases", progress):
        return _ensure_base(reference, builder)


def _base_record(reference: str, id_map: IdMap) -> Path:
    suite = debian_base.debian_suite(reference)
    name = f"debian-{suite}" if suite else hashlib.sha256(reference.encode()).hexdigest()
    return paths.images(id_map.name) / f"base-{name}.json"


def _ensure_base(reference: str, builder: Builder) -> Image:
    record = _base_record(reference, builder.id_map)
    if image := _load(record):
        return image
    suite = debian_base.debian_suite(reference)
    if suite is not None and os.environ.get("BENCHFLOW_REGISTRY", "auto") != "always":
        image = builder.bootstrap(suite)
    else:
        image = builder.pull(reference)
    builder.share(image)
    _save(record, image)
    return image


def _find(root: Path, dockerfile_name: str, references: list[str], id_map: IdMap) -> Path | None:
    """Where the record of this recipe over the present bases is; None when a base is missing."""
    parts = [_FORMAT, dockerfile_name, context.digest(root)]
    for reference in references:
        image = _load(_base_record(reference, id_map))
        if image is None:
            return None
        parts.append(f"{reference} {image.digest}")
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return paths.images(id_map.name) / f"{key}.json"


def _load(record: Path) -> Image | None:
    try:
        data: dict[str, Any] = json.loads(record.read_text())
    except FileNotFoundError:
        return None
    layers = tuple(Path(layer) for layer in data["layers"])
    if not all(layer.is_dir() for layer in layers):
        return None
    config = data["config"]
    config["entrypoint"], config["cmd"] = tuple(config["entrypoint"]), tuple(config["cmd"])
    return Image(data["digest"], layers, ImageConfig(**config))


def _save(record: Path, image: Image) -> None:
    """Write the record; only now the image exists for others."""
    data = {
        "digest": image.digest,
        "layers": [str(layer) for layer in image.layers],
        "config": asdict(image.config),
    }
    write_json(record, data)


@contextmanager
def storage(id_map: IdMap, progress: OnProgress) -> Iterator[Builder]:
    """The builder; several build side by side. One that is alone at work cleans up what a
    killed build left behind. All locks here die with their holders."""
    builder = Builder(id_map, progress)
    with (paths.storage(id_map.name) / "lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            builder.prepare()
        except BlockingIOError:
            progress("another build is under way")
        fcntl.flock(file, fcntl.LOCK_SH)
        yield builder


@contextmanager
def _turn(id_map: IdMap, name: str, progress: OnProgress) -> Iterator[None]:
    """One at a time makes the image `name`; the others then find it made."""
    with (paths.storage(id_map.name) / f"{name}.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for the same image to be built")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
