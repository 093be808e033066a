"""`FROM debian:<suite>` without a registry: a minimal Debian made from the machine's own mirror.

What this promises: the packages of the suite as the mirror has them on the day of the build,
verified by Debian's archive key. It is not the registry's image byte for byte; it is made once,
kept, and named by the digest of what came out, and everything built on it records that digest.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from benchflow.errors import InfrastructureError, MissingTool
from benchflow.sandbox import userns
from benchflow.sandbox.idmap import IdMap
from benchflow.sandbox.image import mirror

ALIASES = {"11": "bullseye", "12": "bookworm", "13": "trixie", "latest": "stable"}
_KNOWN = ("bullseye", "bookworm", "trixie", "forky", "sid", "unstable", "testing", "stable")
#: 1 January 2000. mmdebstrap(1) dates every newer file back to it, so that the same packages make
#: the same tar.
_DATE = "946684800"
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def debian_suite(reference: str) -> str | None:
    """The suite that an image reference asks for when it is a plain Debian one
    (`debian:bookworm-slim`, `docker.io/library/debian:12`); else None."""
    match = re.fullmatch(
        r"(?:(?:index\.)?docker\.io/)?(?:library/)?debian(?::([a-z0-9]+)(?:-slim)?)?", reference
    )
    if not match:
        return None
    suite = ALIASES.get(match[1] or "latest", match[1])
    return suite if suite in _KNOWN else None


def bootstrap(
    suite: str,
    directory: Path,
    id_map: IdMap,
    *,
    on_output: Callable[[bytes], None] | None = None,
) -> Path:
    """Make a minimal Debian and return it as a tar file in `directory`."""
    if shutil.which("mmdebstrap") is None:
        raise MissingTool("mmdebstrap is not installed", hint="apt-get install mmdebstrap")
    if not Path(_KEYRING).is_file():
        raise MissingTool(
            "Debian's archive keys are not installed", hint="apt-get install debian-archive-keyring"
        )
    sources = mirror.debian_sources(suite, mirror.machine_sources(), mirror.codename())
    options = mirror.apt_options()
    command = ["sh", "-c", 'mkdir -p "$TMPDIR" && exec "$@"', "sh"]
    command += ["mmdebstrap", "--mode=root", "--variant=minbase", "--format=tar"]
    command += ["--include=ca-certificates", f"--keyring={_KEYRING}"]
    command += [f"--aptopt={option.rstrip(';')}" for option in options]
    command += ["--dpkgopt=force-unsafe-io"]
    command += ["--customize-hook=rm -f $1/etc/dpkg/dpkg.cfg.d/99mmdebstrap"]
    command += [suite, "/mnt/out/base.tar", *(source.line() for source in sources)]
    status, output = userns.run(
        command,
        id_map,
        shown={"out": directory},
        env={
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/mnt/out",
            "TMPDIR": "/mnt/out/tmp",  # the builder clears it when this is killed
            "SOURCE_DATE_EPOCH": _DATE,
        },
        on_output=on_output,
    )
    if status:
        tail = output.decode("utf-8", "replace").strip()[-2000:]
        raise InfrastructureError(
            f"making a Debian {suite} base from the machine's mirror failed:\n{tail}",
            hint="check `apt-get update` and the space on the disk",
        )
    return directory / "base.tar"
