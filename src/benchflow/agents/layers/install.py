"""Makes a layer: fetches what is locked, gives it a runtime, records it."""

from __future__ import annotations

import fcntl
import json
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from benchflow.agents.layers import npm, pypi, store
from benchflow.agents.layers.catalogue import AgentSpec
from benchflow.agents.layers.lock import AgentLock
from benchflow.errors import MissingTool

_MAINS = {
    "mini_swe_agent": "from minisweagent.run.mini import app\n\napp()\n",
    "asciinema": "from asciinema.__main__ import main\n\nsys.exit(main())\n",
}
_MAIN = "import sys\n\nsys.path.insert(0, {site!r})\n"


class Workshop(Protocol):
    """A sandbox in which a layer gets a runtime of its own."""

    def finish(self, spec: AgentSpec, layer: Path) -> dict[str, str]:
        """Put `spec.runtime` into `layer`, with all shared libraries that it needs.

        Returns what the runtime is made of: package and version. Raises InfrastructureError.
        """
        ...


def install(
    spec: AgentSpec,
    workshop: Workshop,
    *,
    on_progress: Callable[[str], None] = lambda line: None,
    again: bool = False,
) -> store.Layer:
    """The layer of the locked version; made when it is not there, or `again`.

    Two processes that want the same layer make it once. Raises InfrastructureError when a registry
    does not answer or gives something else than what was locked, MissingTool on other machines
    than x86_64.
    """
    lock = store.locked(spec)
    target = store.place(spec, lock)
    if not again and (found := store.read(target)):
        return found
    if platform.machine() != "x86_64":
        raise MissingTool(
            f"agent layers are made for x86_64, this machine is {platform.machine()}",
            hint="use the agent's ordinary install: --agent-option layer=none",
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with _turn(target):
        if not again and (found := store.read(target)):
            return found
        on_progress(f"installing {spec.title} {lock.version} (once for this machine)")
        draft = Path(tempfile.mkdtemp(prefix=".new-", dir=target.parent))
        try:
            _make(spec, lock, workshop, draft)
            old = target.with_name(f".old-{target.name}")
            shutil.rmtree(old, ignore_errors=True)
            if target.exists():
                target.rename(old)
            draft.rename(target)
            shutil.rmtree(old, ignore_errors=True)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    layer = store.read(target)
    assert layer is not None
    return layer


def _make(spec: AgentSpec, lock: AgentLock, workshop: Workshop, draft: Path) -> None:
    started = time.monotonic()
    if lock.npm is not None:
        npm.fetch(lock.npm, draft)
    if lock.pypi:
        pypi.fetch(lock.pypi, draft)
    _write_launchers(spec, draft)
    runtime = workshop.finish(spec, draft) if spec.runtime else {}
    _open_to_all(draft)
    content, megabytes = store.measure(draft)
    record = {
        "agent": spec.name,
        "version": lock.version,
        "content": content,
        "megabytes": megabytes,
        "seconds": round(time.monotonic() - started, 1),
        "runtime": runtime,
    }
    (draft / store.RECORD).write_text(json.dumps(record, indent=1) + "\n")
    (draft / store.RECORD).chmod(0o644)


def _write_launchers(spec: AgentSpec, draft: Path) -> None:
    (draft / "bin").mkdir()
    for name, script in spec.launchers.items():
        (draft / "bin" / name).write_text(script.replace("{layer}", spec.inside))
        (draft / "bin" / name).chmod(0o755)
        main = name.replace("-", "_")
        if main in _MAINS and "{layer}/lib/" in script:
            (draft / "lib").mkdir(exist_ok=True)
            text = _MAIN.format(site=f"{spec.inside}/site-packages") + _MAINS[main]
            (draft / "lib" / f"{main}.py").write_text(text)


def _open_to_all(draft: Path) -> None:
    """A sandbox shows what the host's others may read: packages come with any modes."""
    for path in (draft, *draft.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            everyone = 0o555 if path.is_dir() or mode & 0o100 else 0o444
            path.chmod((mode & 0o700) | everyone)


@contextmanager
def _turn(target: Path) -> Iterator[None]:
    with (target.parent / f".{target.name}.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
