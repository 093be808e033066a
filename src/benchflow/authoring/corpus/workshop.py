"""Makes the bootable files of the corpus, in a sandbox with the tools for it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from benchflow.authoring.corpus import payload
from benchflow.authoring.corpus.known import Answer
from benchflow.errors import InfrastructureError

_CONTEXT = Path(__file__).parent / "workshop"
_SECONDS = 300


def build(text: bytes, said: bytes, cmdline: str, answers: Sequence[Answer], target: Path) -> None:
    """Writes `printed.disk`, `printed.iso`, `printed.kernel`, `stock.iso`, `vmlinuz`, `initrd.gz`.

    `text` (at most `payload.TEXT_MAX` bytes) is what boot sector, CD, EFI program and kernel
    print; `said` and `cmdline` are what the stock system's boot loader and kernel say; `answers`
    what it answers. `target` is a new folder. `stock.iso` boots as a disk too. Raises
    InfrastructureError.
    """
    from benchflow import sandbox

    inside = target / "in"
    (inside / "answers").mkdir(parents=True)
    (inside / "printing.efi").write_bytes(payload.efi_x64(text))
    (inside / "printing.cd").write_bytes(payload.bios_cd(text))
    (inside / "replay").write_bytes(text)
    (inside / "said").write_bytes(said)
    (inside / "cmdline").write_text(cmdline)
    (inside / "init").write_bytes((_CONTEXT / "init").read_bytes())
    for answer in answers:
        name = inside / "answers" / hashlib.sha256(answer.command).hexdigest()
        name.write_text(answer.output)
        name.with_suffix(".status").write_text(str(answer.status))
    image = sandbox.build(_CONTEXT)
    with sandbox.Sandbox.start(image, hostname="workshop") as box:
        box.put(inside, "/in")
        box.put(_CONTEXT / "assemble.sh", "/in/assemble.sh")
        done = box.exec(["sh", "/in/assemble.sh"], timeout=_SECONDS)
        if done.status:
            raise InfrastructureError(
                f"the common exploits could not be built: {done.error_text[-800:]}",
                hint="please report it: the workshop's image may have changed",
            )
        for made in ("esp.img", "printing.iso", "stock.iso", "vmlinuz", "initrd.gz"):
            box.get(f"/out/{made}", target / made)
    (target / "printing.iso").rename(target / "printed.iso")
    (target / "printed.disk").write_bytes(
        payload.bios_disk(text, (target / "esp.img").read_bytes())
    )
    (target / "printed.kernel").write_bytes(payload.linux_x86(text))
