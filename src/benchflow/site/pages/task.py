"""A task: who resolved it, how often, how far each got; and the list of all tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from benchflow.base import numbers
from benchflow.people.said_words import lines
from benchflow.results.model import Verdict
from benchflow.results.records import Record
from benchflow.results.versions import bare_name
from benchflow.site.page_model import (
    Block,
    Cell,
    Column,
    Command,
    Facts,
    Link,
    Page,
    Prose,
    Section,
    Table,
)
from benchflow.site.pages import votes
from benchflow.site.pages.common import (
    OVERVIEW,
    Put,
    heat,
    known_columns,
    median,
    nothing,
    number,
    seconds_cell,
    share_cell,
    text,
    who_cell,
)
from benchflow.site.study import Study, counts, share
from benchflow.study.statistics import Refused
from benchflow.tasks.catalogue import in_catalogue_or_drawn
from benchflow.tasks.model import Task

#: So many milestones that everybody passed are folded away: they separate nobody.
_FOLD_FROM = 8


def index(study: Study, put: Put) -> Page:
    """All tasks."""
    columns = (
        Column("task", "Task"),
        Column("topic", "Topic"),
        Column("solvers", "Resolved by", help="agents and models, at least once"),
        Column("best", "Who came furthest", help="and the next three columns are of these trials"),
        Column("share", "Its trials resolved", numeric=True),
        Column(
            "milestones",
            "Its milestones passed",
            numeric=True,
            help="mean share of milestones or tests",
        ),
        Column("agent", "Its time", numeric=True, help="median"),
        Column("trials", "All trials", numeric=True),
        Column("errors", "Errors", numeric=True),
        Column("difficulty", "Difficulty", numeric=True, help="logits (Rasch); 0 is the mean task"),
        Column("flag", "", help="what the task does not do"),
        Column("expert", "Expert's time", numeric=True),
    )
    rows = tuple(_index_row(study, task) for task in study.tasks)
    return Page(
        path="tasks.html",
        title="Tasks",
        lede=(f"{numbers.plural(len(study.tasks), 'task')}, with what became of each.",),
        sections=(
            Section(
                "tasks",
                "",
                (
                    *_divided(study),
                    known_columns(Table("tasks", "", columns, rows, tools=True)),
                ),
            ),
        ),
        nav="tasks.html",
    )


def _divided(study: Study) -> tuple[Block, ...]:
    if not study.divided:
        return ()
    several = numbers.plural(len(study.divided), "task stands", "tasks stand")
    return (
        nothing(
            f"{several} here in more than one form: {', '.join(study.divided[:5])}"
            + (" …" if len(study.divided) > 5 else "")
            + ". Results of two versions, contents, hint levels or beginnings are never put "
            "together: each form is a task of its own, named @version, #digest, +hint or +own "
            "start."
        ),
    )


def _index_row(study: Study, task: str) -> tuple[Cell, ...]:
    records = study.counted(task)
    expert = next((r.expert_minutes for r in records if r.expert_minutes), None)
    # What six attempts of a tiny model came to says nothing of a task that another resolved.
    per = _by_entry(records)
    best = max(per, key=lambda who: (share(per[who]) or 0, _mean_milestones(per[who]) or 0))
    solvers = sum(any(r.verdict is Verdict.RESOLVED for r in each) for each in per.values())
    return (
        text(task, study.at.task(task)),
        text(next((r.topic for r in records if r.topic), "")),
        text(f"{solvers} of {len(per)}"),
        who_cell(study, best),
        share_cell(share(per[best])),
        share_cell(_mean_milestones(per[best])),
        seconds_cell(median(r.phases.agent for r in per[best])),
        number(len(records)),
        number(counts(records)[2]),
        *_difficulty(study, task),
        seconds_cell(None if expert is None else 60 * expert),
    )


def _by_entry(records: Sequence[Record]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record.who, []).append(record)
    return found


def _difficulty(study: Study, task: str) -> tuple[Cell, Cell]:
    found = study.difficulty
    if isinstance(found, Refused) or task not in found.tasks:
        return Cell(None, numbers.MISSING), text("")
    at = found.tasks.index(task)
    value, error = float(found.scale.difficulty[at]), float(found.scale.difficulty_sd[at])
    return Cell(value, f"{numbers.signed(value)} ± {error:.1f}"), text(found.scale.flags[at])


def make(study: Study, task: str, put: Put) -> Page:
    """One task."""
    records = study.of_task(task)
    counted = study.counted(task)
    resolved, failed, errors = counts(counted)
    solvers = len({r.who for r in counted if r.verdict is Verdict.RESOLVED})
    tried = len({r.who for r in counted})
    known = in_catalogue_or_drawn(bare_name(counted[0].task))
    return Page(
        path=study.at.task(task),
        title=task,
        crumbs=(OVERVIEW,),
        kicker="Task",
        lede=(
            f"{solvers} of {numbers.plural(tried, 'agent and model', 'agents and models')} "
            f"resolved it at least once; {resolved} of {resolved + failed} trials did"
            + (f", and {numbers.plural(errors, 'error')} did not count." if errors else "."),
        ),
        sections=tuple(
            section
            for section in (
                Section("about", "", _about(counted, known)),
                Section("asked", "What it asks", _asked(counted, known)),
                Section("attempts", "Attempts", (_attempts(study, task),)),
                Section(
                    "milestones", _milestones_title(records), _milestones(study, task, records)
                ),
                Section("experts", "What experts say", _experts(study, task)),
                Section("votes", "What people would rather have", votes.of_task(study, task)),
                Section("stops", "Where they stop", _stops(study, counted)),
            )
            if section.blocks
        ),
        nav="tasks.html",
    )


def _experts(study: Study, task: str) -> tuple[Block, ...]:
    one = study.said_of(task)
    if study.said is None or one is None:
        return ()
    facts = Facts(
        tuple((label.capitalize(), text(words)) for label, words in lines(study.said, one))
    )
    return (facts, Prose(((Link("All that experts say", "experts.html"),),)))


def _about(records: Sequence[Record], known: Task | None) -> tuple[Block, ...]:
    first = records[0]
    expert = first.expert_minutes or (known.expert_minutes if known else None)
    authors, reviewers = _credited(records, known)
    items = (
        ("Topic", text(first.topic)),
        ("Skills", text(", ".join(first.skills or (known.skills if known else ())))),
        ("Authors", text(", ".join(authors))),
        ("Reviewed by", text(", ".join(reviewers))),
        ("Version", text(", ".join(sorted({r.task_version for r in records if r.task_version})))),
        ("Time of an expert", seconds_cell(None if expert is None else 60 * expert)),
    )
    shown = tuple((label, cell) for label, cell in items if cell.value)
    return (Facts(shown),) if shown else ()


def _asked(records: Sequence[Record], known: Task | None) -> tuple[Block, ...]:
    """The order in one line and letter by letter, as the catalogue here has it now, or draws it."""
    if known is None:
        return ()
    told = {r.task_version for r in records if r.task_version}
    other = f", while these trials are of {', '.join(sorted(told))}" * (
        bool(told) and told != {known.version}
    )
    paths = [known.path / "instruction.md", *sorted(known.path.glob("steps/*/instruction.md"))]
    whole = "\n\n".join(path.read_text(encoding="utf-8") for path in paths if path.is_file())
    said = Prose(((f"{known.description} (Version {known.version} of the catalogue{other}.)",),))
    return (said, Command("The whole instruction, as the agent gets it", whole))


def _credited(
    records: Sequence[Record], known: Task | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Who made the task and who reviewed it, as the trials recorded it; else as the catalogue here
    has them: trials of long ago do not say it."""
    last = max(records, key=lambda record: record.started_at)
    if last.authors or last.reviewers:
        return last.authors, last.reviewers
    return (known.authors, known.reviewers) if known else ((), ())


def _attempts(study: Study, task: str) -> Table:
    entries = [who for who in study.entries if (who, task) in study.cells]
    rows = []
    for who in entries:
        cell = study.cells[who, task]
        resolved, failed, _ = counts(cell)
        tokens = median(_tokens(record) for record in cell)
        rows.append(
            (
                who_cell(study, who),
                Cell(share(cell), f"{resolved} / {resolved + failed}"),
                study.tried[who, task],
                share_cell(_mean_milestones(cell)),
                seconds_cell(median(r.phases.agent for r in cell)),
                number(tokens),
            )
        )
    table = Table(
        "attempts",
        "A dot is a trial: full for resolved, a ring for failed, hatched for an error of ours.",
        (
            Column("who", "Agent and model"),
            Column("share", "Resolved", numeric=True),
            Column("trials", "Trials"),
            Column("milestones", "Milestones passed", numeric=True, help="mean share"),
            Column("seconds", "Agent's time", numeric=True, help="median"),
            Column("tokens", "Tokens", numeric=True, help="median, as reported"),
        ),
        tuple(rows),
        row_ids=tuple(study.at.row(who) for who in entries),
    )
    return known_columns(table)


def _tokens(record: Record) -> float | None:
    known = [n for n in (record.usage.input_tokens, record.usage.output_tokens) if n is not None]
    return sum(known) if known else None


def _mean_milestones(records: Sequence[Record]) -> float | None:
    shares = [
        record.n_passed / len(record.milestones)
        for record in records
        if record.milestones and record.verdict is not Verdict.ERROR
    ]
    return sum(shares) / len(shares) if shares else None


def _milestones_title(records: Sequence[Record]) -> str:
    kinds = {record.milestone_kind for record in records}
    return "Which tests pass" if "test" in kinds else "How far each gets"


def _milestones(study: Study, task: str, records: Sequence[Record]) -> tuple[Block, ...]:
    """Milestones by entry: the share of judged trials that passed each."""
    titles: dict[str, str] = {}
    for record in records:
        for milestone in record.milestones:
            titles.setdefault(milestone.id, milestone.title)
    if not titles:
        return ()
    entries = [who for who in study.entries if (who, task) in study.cells]
    judged = {
        who: [r for r in study.cells[who, task] if r.verdict is not Verdict.ERROR and r.milestones]
        for who in entries
    }
    passed = {
        who: Counter(
            milestone.id
            for record in judged[who]
            for milestone in record.milestones
            if milestone.passed
        )
        for who in entries
    }
    rows = tuple(
        (
            Cell(milestone, titles[milestone] or milestone, note=milestone),
            *(_share_of(passed[who][milestone], len(judged[who])) for who in entries),
        )
        for milestone in titles
    )
    columns = (
        Column("milestone", "Test" if records[0].milestone_kind == "test" else "Milestone"),
        *(Column(who, who, href=study.at.entry(who)) for who in entries),
    )
    said = "Trials that passed, of those that were judged."
    told = [row for row in rows if any(cell.value != 1 for cell in row[1:])]
    same = [row for row in rows if row not in told]
    if len(same) < _FOLD_FROM:
        return (Table("milestones", said, columns, rows, "heat"),)
    apart = Table("milestones", said, columns, tuple(told), "heat")
    always = f"{len(same)} that every judged trial passed"
    folded = Table("always", always, columns, tuple(same), "heat", folded=True)
    return (apart, folded) if told else (folded,)


def _share_of(passed: int, judged: int) -> Cell:
    if not judged:
        return Cell(None, "", tone="none")
    return Cell(passed / judged, f"{passed}/{judged}", tone=heat(passed / judged))


def _stops(study: Study, records: Sequence[Record]) -> tuple[Block, ...]:
    """The first milestone that failed in each failed trial, with one of the messages."""
    firsts: Counter[str] = Counter()
    titles: dict[str, str] = {}
    messages: dict[str, str] = {}
    for record in records:
        if record.verdict is not Verdict.FAILED:
            continue
        milestone = next(
            (milestone for milestone in record.milestones if milestone.status == "failed"), None
        )
        if milestone is not None:
            firsts[milestone.id] += 1
            titles.setdefault(milestone.id, milestone.title or milestone.id)
            if milestone.message:
                messages.setdefault(milestone.id, milestone.message)
    if not firsts:
        return ()
    rows = tuple(
        (Cell(milestone, titles[milestone]), number(n), text(_short(messages.get(milestone, ""))))
        for milestone, n in firsts.most_common()
    )
    return (
        nothing("The first that failed in each failed trial."),
        Table(
            "stops",
            "",
            (
                Column("milestone", "First failure"),
                Column("trials", "Trials", numeric=True),
                Column("message", "One of the messages", prose=True),
            ),
            rows,
        ),
    )


def _short(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= 220 else line[:219] + "…"
