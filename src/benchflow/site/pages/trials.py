"""All trials in one list that is filtered in the page."""

from __future__ import annotations

import json

from benchflow.base import numbers
from benchflow.results.model import Verdict
from benchflow.results.records import Record
from benchflow.site.page_model import Link, Page, Section, TrialList
from benchflow.site.pages import adjudicated
from benchflow.site.pages.common import Put
from benchflow.site.study import Study
from benchflow.site.urls import trial_page

_SHARD = 10_000
#: So many are linked to for who has no JavaScript.
_WITHOUT_JAVASCRIPT = 500
_ORDER = (Verdict.RESOLVED, Verdict.FAILED, Verdict.ERROR)


def make(study: Study, put: Put) -> Page:
    """The list; its rows lie in shards beside it."""
    causes = sorted({_cause(record) for record in study.records})
    entry_at = {who: at for at, who in enumerate(study.entries)}
    task_at = {task: at for at, task in enumerate(study.tasks)}
    cause_at = {cause: at for at, cause in enumerate(causes)}
    shards = []
    for number in range(0, max(len(study.records), 1), _SHARD):
        rows = [
            [
                r.uid,
                entry_at[r.who],
                task_at[r.task],
                _ORDER.index(r.verdict),
                r.n_passed,
                len(r.milestones),
                "" if r.phases.agent is None else numbers.duration(r.phases.agent),
                cause_at[_cause(r)],
                f"{r.job}/{r.trial}" if r.job else r.trial,
            ]
            for r in study.records[number : number + _SHARD]
        ]
        value: dict[str, object] = {"rows": rows}
        if number == 0:
            value |= {"entries": study.entries, "tasks": study.tasks, "causes": causes}
        name = f"trials/rows-{number // _SHARD}.js"
        put(name, f"benchflow.put({json.dumps(name)}, {json.dumps(value, ensure_ascii=False)});\n")
        shards.append(name)
    return Page(
        path="trials.html",
        title="All trials",
        lede=("Filter by agent, task, verdict and cause. The address keeps what you chose.",),
        sections=(
            Section(
                "trials",
                "",
                (
                    TrialList(
                        "trials",
                        tuple(shards),
                        len(study.records),
                        study.entries,
                        study.tasks,
                        tuple(_link(record) for record in study.records[:_WITHOUT_JAVASCRIPT]),
                    ),
                ),
            ),
        ),
        nav="trials.html",
        scripts=("list.js", "trials.js"),
    )


def _link(record: Record) -> Link:
    said = (f"{record.verdict}: {record.task}", record.who, record.trial, _cause(record))
    return Link(", ".join(part for part in said if part), trial_page(record.uid))


def _cause(record: Record) -> str:
    parts = (record.cause or record.failure_mode, adjudicated.in_short(record))
    return "; ".join(part for part in parts if part)
