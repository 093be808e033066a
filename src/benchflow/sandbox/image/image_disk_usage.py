"""How much room the built images take, and how to get it back."""

from __future__ import annotations

import fcntl
import shutil

from benchflow.base.home import home
from benchflow.base.numbers import plural
from benchflow.errors import UsageError
from benchflow.sandbox import cleanup, idmap, paths, userns


def stored_bytes() -> int:
    """What the images of this user's id map take on the disk, build caches included."""
    id_map = idmap.current()
    place = paths.storage(id_map.name) / "place"
    if not place.is_dir():
        return 0
    # The layers belong to mapped ids, and a plain user cannot walk them from outside.
    measure = ["du", "-sk", "/mnt/place"]
    output = userns.check(measure, id_map, what="measuring images", shown={"place": place})
    return int(output.split()[0]) * 1024


def refuse_while_used() -> None:
    """Raises UsageError while a sandbox lives or waits to be resumed; removes those first
    whose owner is dead and that nobody waits for."""
    cleanup.gc()
    if waiting := cleanup.kept():
        raise UsageError(
            f"kept for trials that were cut off: {plural(len(waiting), 'sandbox', 'sandboxes')}",
            hint="benchflow resume JOB resumes them; benchflow clean --sandboxes removes them",
        )
    living = [state.name for state in paths.sandboxes().iterdir()]
    if living:
        raise UsageError(
            f"sandboxes are in use: {', '.join(living[:3])}" + (", …" if living[3:] else ""),
            hint="wait for their runs to end, or stop them with Ctrl-C",
        )


def remove_kept() -> list[str]:
    """Remove the sandboxes that are kept for trials that were cut off; their names."""
    waiting = cleanup.kept()
    for name in waiting:
        cleanup.discard(name)
    return waiting


def remove_images() -> None:
    """Remove all built images, their records, and the disks made of them for machines; what is
    needed is made again.

    Raises UsageError while a sandbox lives or an image is being built: they stand on the layers.
    """
    id_map = idmap.current()
    storage, records = paths.storage(id_map.name), paths.images(id_map.name)
    with (storage / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(
                "an image is being built", hint="try again when that run has ended"
            ) from error
        refuse_while_used()
        # Without their records the images are nobody's, should the rest be cut off.
        for record in records.glob("*.json"):
            record.unlink()
        shutil.rmtree(home() / "machines", ignore_errors=True)
        place = storage / "place"
        if place.is_dir():
            remove = ["sh", "-c", "rm -rf /mnt/place/* /mnt/place/.[!.]*"]
            userns.check(remove, id_map, what="removing images", shown={"place": place})
            shutil.rmtree(place)
