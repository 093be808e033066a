"""Where agent layers get a runtime of their own: a Debian sandbox without network.

The runtime must not lean on the image that it is shown in: programs get their own loader and
libraries by absolute path (patchelf), Python its standard library, both from Debian 12. A library
path in the environment would do it too, but what the agent starts would inherit it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchflow.agents.layers import AgentSpec
from benchflow.errors import InfrastructureError
from benchflow.sandbox import Image, Limits, Sandbox, build

_DOCKERFILE = """\
FROM debian:bookworm
RUN apt-get update && apt-get install -y --no-install-recommends \\
    binutils patchelf {packages} && rm -rf /var/lib/apt/lists/*
"""
_PYTHON_PACKAGES = ("python3", "libpython3-stdlib")
# DT_RPATH, not DT_RUNPATH: only it also serves the libraries that a library needs.
_SCRIPT = r"""
set -eu
runtime=$LAYER/runtime
mkdir -p "$runtime/bin" "$runtime/lib" "$runtime/share"
for program in $PROGRAMS; do cp -L "$program" "$runtime/bin/"; done
if [ -n "$PYTHON" ]; then
  cp -L /usr/bin/python3.11 "$runtime/bin/"
  cp -a /usr/lib/python3.11 "$runtime/lib/"
  rm -rf "$runtime"/lib/python3.11/{sitecustomize.py,test,idlelib,tkinter,ensurepip,config-*}
  find "$runtime/lib/python3.11" -name __pycache__ -prune -exec rm -rf {} +
fi
if [ -e "$runtime/bin/tmux" ]; then
  cp -a /lib/terminfo "$runtime/share/"
  mkdir -p "$runtime/lib/locale" && cp -a /usr/lib/locale/C.utf8 "$runtime/lib/locale/"
fi
loader=/lib64/ld-linux-x86-64.so.2
find "$LAYER" -type f \( -name '*.so' -o -name '*.so.*' -o -name '*.node' \
    -o -path "$runtime/bin/*" \) >/tmp/candidates
while read -r file; do
  readelf -hd "$file" 2>/dev/null | grep -q 'X86-64' || continue
  LD_LIBRARY_PATH=$runtime/lib ldd "$file" 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p'
done </tmp/candidates | sort -u | { grep -v "^$LAYER/" || true; } | while read -r library; do
  cp -L "$library" "$runtime/lib/"
done
for name in libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1 libresolv.so.2; do
  cp -L "/lib/x86_64-linux-gnu/$name" "$runtime/lib/"
done
cp -L "$loader" "$runtime/lib/"
for program in "$runtime"/bin/*; do
  patchelf --set-interpreter "$runtime/lib/ld-linux-x86-64.so.2" \
    --force-rpath --set-rpath "$runtime/lib" "$program"
done
if [ -n "$PYTHON" ]; then
  "$runtime/bin/python3.11" -I -m compileall -q --invalidation-mode unchecked-hash \
    "$runtime/lib/python3.11" "$LAYER/site-packages" "$LAYER/lib" || true
fi
dpkg-query -W -f '${Package} ${Version}\n' libc6 $PACKAGES
"""


class SandboxWorkshop:
    """The `Workshop` of `benchflow.agents.layers.install`."""

    def __init__(self, on_progress: Callable[[str], None] = lambda line: None) -> None:
        self._on_progress = on_progress

    def finish(self, spec: AgentSpec, layer: Path) -> dict[str, str]:
        """See `Workshop.finish`."""
        runtime = spec.runtime
        assert runtime is not None
        packages = [*(_PYTHON_PACKAGES if runtime.python else ()), *runtime.packages]
        image = self._image(packages)
        self._on_progress(f"giving {spec.title} a runtime of its own")
        env = {
            "LAYER": spec.inside,
            "PYTHON": "yes" if runtime.python else "",
            "PROGRAMS": " ".join([*runtime.programs, *(f"{spec.inside}/{p}" for p in runtime.own)]),
            "PACKAGES": " ".join(packages),
        }
        with Sandbox.start(image, network="none", limits=Limits(pids=256)) as box:
            box.put(layer, spec.inside)
            for path in runtime.own:
                (layer / path).unlink()
            done = box.exec(["bash", "-c", _SCRIPT], env=env, timeout=600)
            if done.status:
                raise InfrastructureError(
                    f"{spec.title} could not be given a runtime: {done.error_text.strip()[-600:]}"
                )
            for path in runtime.own:
                box.exec(["rm", "-f", f"{spec.inside}/{path}"])
            self._take(box, spec, layer)
        return dict(line.split() for line in done.text.splitlines())

    def _image(self, packages: list[str]) -> Image:
        with tempfile.TemporaryDirectory(prefix="benchflow-") as context:
            text = _DOCKERFILE.format(packages=" ".join(packages))
            (Path(context) / "Dockerfile").write_text(text)
            return build(context, on_progress=self._on_progress)

    @staticmethod
    def _take(box: Sandbox, spec: AgentSpec, layer: Path) -> None:
        taken = layer.with_name(f"{layer.name}.taken")
        try:
            left_out = box.get(spec.inside, taken)
            if left_out:
                raise InfrastructureError(f"of {spec.title}'s layer were lost: {left_out[:5]}")
            shutil.rmtree(layer)
            taken.rename(layer)
        finally:
            shutil.rmtree(taken, ignore_errors=True)
