"""Which machine this is, without saying whose, and what it is made of."""

from __future__ import annotations

import hmac
import os
import platform
import re
import secrets
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from benchflow.base.home import home

#: machine-id(5) is not to be shown to anybody; what a key makes of it is.
_PURPOSE = b"benchflow host"
_KEPT = "host-id"


@cache
def facts() -> Mapping[str, Any]:
    """What stays the same while a job runs; texts are empty where the machine does not say."""
    cpu = cpu_facts(_read(Path("/proc/cpuinfo")))
    return {
        "id": host_id(),
        "cores": len(os.sched_getaffinity(0)),
        "cpu": cpu[0],
        "flags": cpu[1],
        "kernel": platform.release(),
        "machine": platform.machine(),
    }


def host_id(machine_id: Path = Path("/etc/machine-id")) -> str:
    """12 hexadecimal digits: the same for this machine always, and nothing can be read from them.

    Where the machine has no id of its own (a container, mostly) one is drawn and kept in the home.
    """
    own = _read(machine_id).strip()
    seed = own if re.fullmatch(r"[0-9a-f]{32}", own) else _drawn_once(home() / _KEPT)
    return hmac.new(seed.encode(), _PURPOSE, "sha256").hexdigest()[:12]


def _drawn_once(path: Path) -> str:
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    draft.write_text(secrets.token_hex(16))
    try:
        os.link(draft, path)  # of several that begin at once, one gives all of them its id
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_text()


def cpu_facts(cpuinfo: str) -> tuple[str, str]:
    """Model and flags (sorted) of the first processor in a /proc/cpuinfo."""
    said: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        said.setdefault(key.strip(), value.strip())
    flags = said.get("flags") or said.get("Features") or ""
    return said.get("model name") or said.get("Model") or "", " ".join(sorted(flags.split()))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
