"""A trial's folder as it comes back: spooled, unpacked, made the job's own, and then named.

All of it lies beside the job (`<jobs>/.coming/<job>/`) until it is whole: the trial that everybody
sees is there with its result, or without one. What was whole when the driver was killed is taken
in by the next.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from benchflow.results.jobs import metered
from benchflow.results.safe_files import UnreadableRecord, read_object
from benchflow.run.ray_engine import meeting, parcel

if TYPE_CHECKING:
    from harbor.models.trial.config import TrialConfig
    from harbor.models.trial.result import TrialResult

_GONE = ".gone"
_LARGEST_RESULT = 64 << 20


def coming(job: Path) -> Path:
    """Where folders wait until they are whole."""
    return job.parent / ".coming" / job.name


class Arrival:
    """One trial's folder."""

    def __init__(self, job: Path, config: TrialConfig) -> None:
        self._job = job
        self._config = config
        top = coming(job)
        top.mkdir(parents=True, exist_ok=True)
        self._archive = meeting.archive_of(top, config.trial_name)
        self._draft = top / f"{config.trial_name}.draft"
        self._file: BinaryIO | None = None
        self._pieces = 0

    def take(self, piece: bytes) -> None:
        """One piece more. Raises OSError."""
        if self._file is None:
            self._file = self._archive.open("wb")
        self._pieces += 1
        self._file.write(piece)

    def finish(self, pieces: int) -> tuple[TrialResult, list[str]]:
        """Make the folder the trial's; its result, and what was left out of it.

        Raises BadParcel where it is torn or no trial's, OSError where it cannot be written.
        """
        if self._file is None or self._pieces != pieces:
            raise parcel.BadParcel(f"{self._pieces} of {pieces} pieces came")
        self._file.close()
        return self._unpacked()

    def finish_placed(self, size: int) -> tuple[TrialResult, list[str]]:
        """The same, of an archive that the node wrote here itself, of `size` bytes."""
        meeting.wait_for(self._archive, size)
        return self._unpacked()

    def _unpacked(self) -> tuple[TrialResult, list[str]]:
        left_out = parcel.unpack(self._archive, self._draft)
        self._archive.unlink()
        result = self._own()
        whole = coming(self._job) / self._config.trial_name
        self._draft.rename(whole)
        _name(whole, self._job / self._config.trial_name)
        return result, left_out

    def discard(self) -> None:
        """Nothing more comes, or what came is of no use."""
        if self._file is not None:
            self._file.close()
        self._archive.unlink(missing_ok=True)
        shutil.rmtree(self._draft, ignore_errors=True)

    def _own(self) -> TrialResult:
        """Say of the trial what the job knows better than its node: what it is, where it lies, and
        what it has used of its model."""
        from harbor.models.trial.result import TrialResult

        folder, config = self._job / self._config.trial_name, self._config
        path = self._draft / "result.json"
        try:
            result = TrialResult.model_validate(read_object(path, _LARGEST_RESULT))
        except (UnreadableRecord, ValueError) as error:
            raise parcel.BadParcel(f"its result.json cannot be read: {error}") from error
        result = result.model_copy(
            update={
                "config": config,
                "trial_name": config.trial_name,
                "trial_uri": folder.resolve().as_uri(),
                "task_id": config.task.get_task_id(),
            }
        )
        for own in (path, self._draft / "config.json", self._draft / metered.NAME):
            own.unlink(missing_ok=True)
        path.write_text(result.model_dump_json(indent=4))
        told = config.model_dump_json(indent=4, exclude_defaults=True)
        (self._draft / "config.json").write_text(told)
        return result


def _name(whole: Path, trial: Path) -> None:
    if trial.exists():
        gone = whole.with_name(f"{trial.name}{_GONE}")
        shutil.rmtree(gone, ignore_errors=True)
        trial.rename(gone)
        whole.rename(trial)
        shutil.rmtree(gone, ignore_errors=True)
    else:
        whole.rename(trial)


def take_in(job: Path) -> list[str]:
    """What a driver that was killed had whole, but not named yet; the rest is removed. Returns the
    trials' names."""
    taken = []
    for path in sorted(coming(job).glob("*")):
        is_whole = path.is_dir() and path.suffix not in (_GONE, ".draft")
        if is_whole and not (job / path.name / "result.json").exists():
            _name(path, job / path.name)
            taken.append(path.name)
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path.exists():
            path.unlink()
    return taken
