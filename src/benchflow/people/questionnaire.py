"""What is asked of people, by the kind of its pack, as the server and the reader want it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchflow.base import atomic
from benchflow.errors import UsageError
from benchflow.people import pack as packs
from benchflow.people import page
from benchflow.people.answers import Body, Signed
from benchflow.people.pack import Pack
from benchflow.people.server import Served

PAGE = "rate.html"


@dataclass(frozen=True)
class RatingQuestions:
    """A `server.Questionnaire` of ratings."""

    pack: Pack

    @property
    def digest(self) -> str:
        """What answers name as their `pack`."""
        return self.pack.digest

    def page(self, served: Served | None) -> str:
        """The page of questions, whole."""
        return page.render(self.pack, served)

    def page_policy(self, served: Served | None) -> str:
        """The content security policy of the page."""
        return page.render_policy(served)

    def check(self, data: bytes) -> Signed[Body]:
        """Answers to this pack from one envelope. Raises BadAnswers."""
        signed = self.pack.rating(data)
        return Signed(signed.body, signed.envelope)


def write(pack: Pack, folder: Path) -> None:
    """Writes `pack.json` and the page. Raises UsageError where another pack lies in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / packs.NAME
    if path.exists() and packs.load(folder).digest != pack.digest:
        raise UsageError(
            f"{folder}: holds another pack, and its links and answers are of that one",
            hint="name a new folder with -o",
        )
    atomic.write(path, pack.encoded)
    atomic.write(folder / PAGE, page.render(pack, None))
