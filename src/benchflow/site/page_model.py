"""What a page says, apart from how it looks: HTML and its twins (.md, .json) are made from this.

Texts are plain: every renderer escapes them for its own format. An `href` is a path from the
site's root, made by us from slugs and uids, never from what a source holds.
"""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Struct


class Link(Struct, frozen=True):
    """Text that leads to another page of the site."""

    text: str
    href: str


Inline = str | Link


class Span(Struct, frozen=True):
    """An interval to draw on 0…1: `outer` around `value`, a shorter `inner` where there is one."""

    value: float
    outer: tuple[float, float]
    inner: tuple[float, float] | None = None


class Cell(Struct, frozen=True):
    """`value` is the machine's, in the column's unit; `text` is what a person reads.

    `tone`: resolved, failed, error, none, or `h0`…`h10` for a share on a heat map. `dots` are
    attempts: (tone, title, href) each. `note` is said on hovering and to screen readers.
    `since`: seconds since 1970, from which on a served page counts the time that is shown.
    """

    value: Any
    text: str
    href: str = ""
    tone: str = ""
    span: Span | None = None
    dots: tuple[tuple[str, str, str], ...] = ()
    note: str = ""
    since: float | None = None

    @property
    def is_text(self) -> bool:
        """Whether there is nothing to show but its text."""
        return not (self.href or self.note or self.dots or self.span or self.since is not None)


class Column(Struct, frozen=True):
    """`key` names it in JSON; `help` explains it under the table; `prose` breaks anywhere."""

    key: str
    label: str
    numeric: bool = False
    prose: bool = False
    help: str = ""
    href: str = ""


class Table(Struct, frozen=True):
    """Rows of as many cells as there are columns. The first column heads its row.

    `look`: "" or "heat". `tools`: sorting and a filter, kept in the address. `row_ids`: a name
    for each row that an address can point at, or none at all.
    """

    kind: ClassVar[str] = "table"
    key: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    look: str = ""
    tools: bool = False
    folded: bool = False
    row_ids: tuple[str, ...] = ()


class Figure(Struct, frozen=True):
    """A chart (SVG text made by Vega-Lite; empty where it is not installed) and its numbers."""

    kind: ClassVar[str] = "figure"
    key: str
    title: str
    reading: str
    svg: str
    table: Table


class Prose(Struct, frozen=True):
    """Paragraphs; `look`: "", "note" or "list" (one item a paragraph)."""

    kind: ClassVar[str] = "prose"
    paragraphs: tuple[tuple[Inline, ...], ...]
    look: str = ""


class Facts(Struct, frozen=True):
    """Labels and values. `look` "headline" sets a few of them large."""

    kind: ClassVar[str] = "facts"
    items: tuple[tuple[str, Cell], ...]
    look: str = ""


class Proof(Struct, frozen=True):
    """One check behind a milestone; see `benchflow.results.model.Check`."""

    name: str
    status: str
    proves: tuple[str, ...]
    seconds: float | None
    message: str


class Step(Struct, frozen=True):
    """One milestone of a ladder with what proves or refutes it."""

    id: str
    title: str
    status: str
    weight: float
    requires: tuple[str, ...]
    message: str
    proofs: tuple[Proof, ...]


class Ladder(Struct, frozen=True):
    """A trial's milestones in order. `milestone_kind`: "milestone" or "test"."""

    kind: ClassVar[str] = "ladder"
    milestone_kind: str
    steps: tuple[Step, ...]


class Console(Struct, frozen=True):
    """A recorded machine. `data`: script with the recording; `text`: its plain text."""

    kind: ClassVar[str] = "console"
    key: str
    machine: str
    data: str
    text: str
    seconds: float
    n_lines: int
    truncated: bool
    markers: tuple[tuple[float, str], ...]


class Trajectory(Struct, frozen=True):
    """Steps in chunks of `chunk` each: scripts `data` with `{}` for the number of the chunk."""

    kind: ClassVar[str] = "trajectory"
    key: str
    n_steps: int
    chunk: int
    data: str


class Command(Struct, frozen=True):
    """An exact command line or another text to be kept letter by letter."""

    kind: ClassVar[str] = "command"
    title: str
    text: str


class TrialList(Struct, frozen=True):
    """All trials, filtered in the page; `shards` are scripts with rows of `columns`."""

    kind: ClassVar[str] = "trials"
    key: str
    shards: tuple[str, ...]
    n_trials: int
    entries: tuple[str, ...]
    tasks: tuple[str, ...]
    #: The first of them, for who has no JavaScript.
    first: tuple[Link, ...] = ()


Block = Table | Figure | Prose | Facts | Ladder | Console | Trajectory | Command | TrialList


class Section(Struct, frozen=True):
    """A part of a page with a heading that can be linked to."""

    key: str
    title: str
    blocks: tuple[Block, ...]


class Page(Struct, frozen=True):
    """One view. `path` ends in `.html`; its twins end in `.md` and `.json` beside it.

    `crumbs` lead to it from the overview. `about` holds what machines want and no block shows.
    """

    path: str
    title: str
    sections: tuple[Section, ...]
    kicker: str = ""
    lede: tuple[Inline, ...] = ()
    crumbs: tuple[Link, ...] = ()
    tone: str = ""
    nav: str = ""
    scripts: tuple[str, ...] = ()
    about: dict[str, Any] = {}

    @property
    def depth(self) -> int:
        """How many folders lie between the page and the site's root."""
        return self.path.count("/")
