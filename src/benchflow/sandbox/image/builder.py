"""buildah, driven as root of our user namespace, and its storage read as layer directories."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import re
import shutil
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchflow.base.home import home
from benchflow.errors import InfrastructureError, MissingTool, TaskError
from benchflow.sandbox import paths, userns
from benchflow.sandbox.idmap import IdMap
from benchflow.sandbox.image import debian_base, local_images, mirror, oci_layout
from benchflow.sandbox.model import Image, ImageConfig

_ENOUGH_SPACE = 256 * 1024 * 1024
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: `STEP 2/5: RUN …`, with the stage before it where there are several.
_STEP = re.compile(rb"(\[\d+/\d+\] )?STEP \d")
#: OCI's names of architectures, by the kernel's.
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
#: buildah starts from a sealed copy of itself in memory; the kernel refuses the seal for as long as
#: something else holds one of its pages (memfd_wait_for_pins in mm/memfd.c).
_BUSY = b"sealing memfd copy: Device or resource busy"
_BUSY_TRIES = 4
_STORE = ("buildah", "--root=/mnt/place/root", "--runroot=/mnt/place/run")
#: What buildah writes below the words of a program that failed.
_EPILOGUE = re.compile(r".*\b(?:exited with|exit) status \d+$")
_PASSED_ON = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")

#: $1 reference, $2 image, $3 whether TLS is verified, then labels. Credentials go into the memory
#: that covers /var/cache.
_PUSH = """set -e
reference=$1 image=$2 tls=$3; shift 3
auth=/var/cache/auth.json
[ -n "$CREDENTIALS" ] || CREDENTIALS={}
printf %s "$CREDENTIALS" >$auth
unset CREDENTIALS
builder() { buildah $STORE "$@"; }
made=$(builder from --pull-never "$image")
out=localhost/$made:out
trap 'builder rm "$made" >/dev/null; builder rmi "$out" >/dev/null 2>&1 || :' EXIT
builder config "$@" "$made" >&2
builder commit -q --format=oci --timestamp=0 "$made" "$out" >&2
builder push -q --format=oci --tls-verify=$tls --authfile=$auth --digestfile=/var/cache/digest \
    "$out" "docker://$reference" >&2
printf '\nDIGEST %s\n' "$(cat /var/cache/digest)"
"""


class Builder:
    """The image builder of one id map. Several may work side by side; one alone may `prepare`."""

    def __init__(self, id_map: IdMap, progress: Callable[[str], None]) -> None:
        self.id_map = id_map
        self.place = paths.storage(id_map.name) / "place"
        self._progress = progress

    def prepare(self) -> None:
        """Make the storage, and remove what a killed build left half-done."""
        if shutil.which("buildah") is None:
            raise MissingTool("buildah is not installed", hint="apt-get install buildah")
        self.place.mkdir(exist_ok=True)
        # The builder's ids make their own directories here; the one above is closed to others.
        self.place.chmod(0o777)
        for leftover in self.place.glob("context-*"):
            shutil.rmtree(leftover)
        shutil.rmtree(self.place / "base", ignore_errors=True)
        if (self.place / "root").is_dir():
            self._buildah("rm", "--all", what="clearing a killed build")
        if (self.place / "tmp").is_dir():
            userns.check(
                ["sh", "-c", "rm -rf /mnt/place/tmp /mnt/place/base.tar"],
                self.id_map,
                what="clearing a killed build",
                shown={"place": self.place},
            )

    def bootstrap(self, suite: str) -> Image:
        """Make the Debian base of `suite` and import it under the registry's name for it."""
        self._progress(f"making a Debian {suite} base from this machine's mirror")
        archive = debian_base.bootstrap(suite, self.place, self.id_map)
        folder, what = self.place / "base", "importing the base"
        config = {"Env": [f"PATH={_PATH}"], "Cmd": ["bash"]}
        machine = platform.machine()
        oci_layout.write(folder, archive, config, architecture=_ARCHITECTURES.get(machine, machine))
        names = _names(suite)
        self._import(folder, names, what)
        return self._image(names[0])

    def pull(self, reference: str) -> Image:
        """Fetch an image: from the folder of images, else from its registry."""
        folder = self.place / "base"
        if local_images.extract(reference, folder):
            self._progress(f"taking {reference} from {local_images.VARIABLE}")
            self._import(folder, [reference], f"reading {reference}")
            return self._image(reference)
        hint = (
            "start the Dockerfile from debian:SUITE, which needs no registry, or put the image "
            f"into a folder: {local_images.VARIABLE} (docs/sandbox.md)"
        )
        if _registry() == "never":
            raise InfrastructureError(
                f"{reference} is not on this machine and BENCHFLOW_REGISTRY=never", hint=hint
            )
        self._progress(f"fetching {reference}")
        status, output = self._run("pull", reference)
        if status:
            lines = [line for line in output.decode("utf-8", "replace").splitlines() if line]
            said = [line for line in lines if not _EPILOGUE.match(line)] or ["nothing was said"]
            tail = "\n".join(lines)[-600:]
            raise InfrastructureError(
                f"no registry gave {reference}: {said[-1][-300:]}\n{tail}", hint=hint
            )
        return self._image(reference)

    def _import(self, folder: Path, names: list[str], what: str) -> None:
        """Take an OCI layout in our place over, under `names`; the layout is used up."""
        for path in (folder, *folder.rglob("*")):
            # The builder is somebody else; what its ids made it can read, and we cannot change.
            if path.stat().st_uid == os.geteuid():
                path.chmod(0o755 if path.is_dir() else 0o644)
        pulled = self._buildah("pull", f"oci:/mnt/place/{folder.name}", what=what)
        self._buildah("tag", pulled.decode().split()[-1], *names, what=what)
        self._buildah("rmi", f"localhost/mnt/place/{folder.name}", what=what)
        shutil.rmtree(folder)

    def build(self, context_dir: Path, dockerfile_name: str, *, tag: str) -> Image:
        """Run a Dockerfile. Raises TaskError when a step fails: its last words, then the end of the
        log.

        A step that has `--mount=type=secret,id=certificates` finds there whom this machine trusts.
        """
        status, output = self._run(
            "bud",
            *self._certificates(),
            "--isolation=chroot",
            "--layers",
            # The bases are there: the key names what they hold, not what a registry has by now.
            f"--pull={'never' if _registry() == 'never' else 'false'}",
            f"--jobs={len(os.sched_getaffinity(0))}",  # stages that do not wait for each other
            f"--file=/mnt/place/{context_dir.name}/{dockerfile_name}",
            f"--tag={tag}",
            f"/mnt/place/{context_dir.name}",
        )
        if status:
            lines = output.decode("utf-8", "replace").splitlines()
            lines = [line for line in lines if line.strip()][-25:]
            self._blame_machine("\n".join(lines))
            # Who shows one line of this shows why, not the steps that went well before.
            said = [line for line in lines if not _EPILOGUE.match(line)]
            raise TaskError(
                f"{dockerfile_name} does not build (status {status}): {' '.join(said[-2:])}\n"
                + "\n".join(lines)
            )
        return self._image(tag)

    def _certificates(self) -> list[str]:
        """A network may answer for registries with a certificate that only its machines know."""
        own = Path(ssl.get_default_verify_paths().cafile or "/etc/ssl/certs/ca-certificates.crt")
        if not own.is_file():
            return []
        copy = self.place / "certificates"
        copy.write_bytes(own.read_bytes())
        copy.chmod(0o644)
        return ["--secret=id=certificates,src=/mnt/place/certificates"]

    def push(
        self,
        image_id: str,
        reference: str,
        labels: Mapping[str, str],
        *,
        credentials: str,
        verify_tls: bool,
    ) -> tuple[int, str, str]:
        """Push an image with labels: exit status, what was said, and its digest there.

        The labels are a commit of their own with a time that is none, so that the same image and
        labels are the same digest.
        """
        pairs = [f"--label={name}={value}" for name, value in sorted(labels.items())]
        store = " ".join([*_STORE[1:], "--storage-driver=overlay"])
        env = {"CREDENTIALS": credentials, "STORE": store}
        tls = "true" if verify_tls else "false"
        status, output = self._in_builder(
            ["sh", "-c", _PUSH, "sh", reference, image_id, tls, *pairs], env
        )
        text = output.decode("utf-8", "replace")
        said, _, digest = text.rpartition("DIGEST ")
        return status, said or text, digest.strip()

    def share(self, image: Image) -> None:
        """Store once what this new image's layers and those of others hold alike."""
        own = [f"/mnt/place/root/overlay/{layer.parent.name}/diff" for layer in image.layers]
        with (self.place.parent / "pool.lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            userns.check(
                ["/mnt/place/pool", *own],
                self.id_map,
                module="dedupe",
                what="sharing files between layers",
                shown={"place": self.place},
            )

    def _blame_machine(self, tail: str) -> None:
        """Raise InfrastructureError when the machine is why a build failed."""
        if _BUSY.decode() in tail:
            raise InfrastructureError(
                f"this machine was too busy for a build, {_BUSY_TRIES} times:\n{tail}",
                hint="try again; steps that were built are kept",
            )
        room = os.statvfs(self.place)
        if room.f_bavail * room.f_frsize < _ENOUGH_SPACE:
            raise InfrastructureError(
                f"the disk under {home()} is full:\n{tail}", hint="make room and try again"
            )
        for source in mirror.machine_sources()[:1]:
            url = f"{source.uri.rstrip('/')}/dists/{source.suite}/InRelease"
            try:
                urllib.request.urlopen(url, timeout=15).close()
            except (urllib.error.URLError, OSError) as error:
                raise InfrastructureError(
                    f"the package mirror does not answer ({error}):\n{tail}",
                    hint="check `apt-get update`",
                ) from error

    def _image(self, name: str) -> Image:
        """Read what buildah made, from its own records."""
        answer = self._buildah("inspect", "--type=image", name, what="reading the image")
        data: dict[str, Any] = json.loads(answer[answer.index(b"{") :])
        config = data["OCIv1"].get("config") or {}
        return Image(
            digest=f"sha256:{data['FromImageID']}",
            layers=self._layers(data["FromImageID"]),
            config=ImageConfig(
                env=dict(item.split("=", 1) for item in config.get("Env") or ()),
                workdir=config.get("WorkingDir") or "/",
                user=config.get("User") or "",
                entrypoint=tuple(config.get("Entrypoint") or ()),
                cmd=tuple(config.get("Cmd") or ()),
            ),
        )

    def _layers(self, image_id: str) -> tuple[Path, ...]:
        read = ["cat", "/mnt/place/root/overlay-images/images.json"]
        images = json.loads(self._in_place(read))
        read = ["cat", "/mnt/place/root/overlay-layers/layers.json"]
        parents = {layer["id"]: layer.get("parent") for layer in json.loads(self._in_place(read))}
        layer = next(image["layer"] for image in images if image["id"] == image_id)
        found: list[Path] = []
        while layer:
            found.append(self.place / "root/overlay" / layer / "diff")
            layer = parents[layer]
        # The caller has to walk to the layers; the directory above all this is closed to others.
        inside = [f"/mnt/place/root/overlay/{path.parent.name}" for path in found]
        self._in_place(["chmod", "a+x", "/mnt/place/root", "/mnt/place/root/overlay", *inside])
        return tuple(reversed(found))

    def _in_place(self, argv: list[str]) -> bytes:
        return userns.check(
            argv, self.id_map, what="reading the image", shown={"place": self.place}
        )

    def _buildah(self, *arguments: str, what: str) -> bytes:
        status, output = self._run(*arguments)
        if status:
            tail = output.decode("utf-8", "replace").strip()[-1000:]
            raise InfrastructureError(f"{what} failed: buildah {arguments[0]}:\n{tail}")
        return output

    def _run(self, *arguments: str) -> tuple[int, bytes]:
        for _ in range(_BUSY_TRIES - 1):
            status, output = self._run_once(*arguments)
            if not status or _BUSY not in output:
                return status, output
            self._progress("the machine was busy; asking the builder again")
            time.sleep(1)
        return self._run_once(*arguments)

    def _run_once(self, *arguments: str) -> tuple[int, bytes]:
        pending = bytearray()

        def lines(data: bytes) -> None:
            pending.extend(data)
            *whole, rest = bytes(pending).split(b"\n")
            pending[:] = rest
            for line in whole:
                if _STEP.match(line):
                    self._progress(line.decode("utf-8", "replace"))

        return self._in_builder([*_STORE, "--storage-driver=overlay", *arguments], {}, lines)

    def _in_builder(
        self,
        command: list[str],
        more: Mapping[str, str],
        on_output: Callable[[bytes], None] | None = None,
    ) -> tuple[int, bytes]:
        """Run `command` where buildah finds its storage, with `more` in its environment."""
        env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        env |= {
            "PATH": _PATH,
            "HOME": "/mnt/place/home",
            "TMPDIR": "/mnt/place/tmp",
            "XDG_RUNTIME_DIR": "/mnt/place/run",
            "_CONTAINERS_USERNS_CONFIGURED": "1",
            **more,
        }
        # buildah keeps short image names under /var/cache, which is not ours to write.
        script = (
            'mount -t tmpfs tmpfs /var/cache && mkdir -p "$HOME" "$TMPDIR" "$XDG_RUNTIME_DIR"'
            ' && exec "$@"'
        )
        return userns.run(
            ["sh", "-c", script, "sh", *command],
            self.id_map,
            shown={"place": self.place},
            env=env,
            on_output=on_output,
        )


def _registry() -> str:
    return os.environ.get("BENCHFLOW_REGISTRY", "auto")


def _names(suite: str) -> list[str]:
    """All the names by which a Dockerfile may ask for this base: short and in full."""
    tags = [suite, *(tag for tag, named in debian_base.ALIASES.items() if named == suite)]
    places = ("localhost", "docker.io/library")
    return [
        f"{place}/debian:{tag}{slim}" for place in places for tag in tags for slim in ("", "-slim")
    ]
