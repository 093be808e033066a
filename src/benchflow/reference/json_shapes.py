"""docs/reference/json.md: what each verb prints with `--json`.

The keys of each document stand here; a test compares them with what the verbs print. What is in
a value follows from its class, which is read from the source.
"""

from __future__ import annotations

import ast

from benchflow.reference.markdown import table
from benchflow.reference.source import classes, fields

_INTRODUCTION = """\
# JSON

For programs that call benchflow with `--json`, and for who writes them.

Made of the code (`python -m benchflow.reference`); not edited. Each call prints one document on \
standard output. `schema` is 1; a key is only ever added to a schema. An error is \
`{"schema": 1, "error": {"kind", "message", "hint", "exit_status"}}`. Text that came out of a \
guest is stripped of escape sequences and control characters. `null` means *not recorded*. A path \
is text.
"""
#: Class → its module.
TYPES = {
    "Job": "benchflow.results.model",
    "Trial": "benchflow.results.model",
    "Milestone": "benchflow.results.model",
    "Check": "benchflow.results.model",
    "Phases": "benchflow.results.model",
    "Usage": "benchflow.results.model",
    "Host": "benchflow.results.model",
    "Problem": "benchflow.results.model",
    "Task": "benchflow.tasks.model",
    "Deliverable": "benchflow.tasks.model",
    "Exploit": "benchflow.tasks.model",
    "Variant": "benchflow.tasks.model",
    "Step": "benchflow.tasks.model",
    "MilestoneSpec": "benchflow.boot.milestones",
    "CheckSpec": "benchflow.boot.milestones",
    "GateResult": "benchflow.authoring.gate",
}
#: What is added to a class when it is printed.
ADDED = {
    "Job": {
        "name": "the folder's name",
        "counts": "finished trials by verdict: `resolved`, `failed`, `error`",
    },
    "Trial": {
        "n_passed": "milestones that passed",
        "n_milestones": "milestones in all",
        "furthest": "id of the last milestone that passed",
    },
}
#: Verb → key → what its value is; a class in square brackets is a list of it.
DOCUMENTS: dict[str, dict[str, str]] = {
    "run, resume, results": {"jobs": "[Job]"},
    "verify": {
        "trial": "Trial",
        "partial": "in its place, of some milestones alone (`--milestone`): `path`, `asked`, "
        "`milestones` as in [Trial](#trial), `cause` and `cause_message` where it says nothing, "
        "`seconds`; never a verdict or a reward",
        "notes": "what is to be said of the verifier's place",
    },
    "credit": {
        "trials": "what the `credit.json` of each holds (results.md), and its `path`",
        "left_out": "reason → number of trials",
    },
    "tasks": {"tasks": "[Task], each with `state`: which gates have passed"},
    "tasks show": {"task": "Task"},
    "tasks validate": {
        "valid": "names of the tasks in which nothing is wrong",
        "problems": "of the others: `task`, `message`, `hint` or `is_fatal` and what was found",
    },
    "tasks datasheet": {"task": "its name", "markdown": "the datasheet"},
    "tasks export": {
        "exported": "the folders that were written",
        "images": "task → `agent`, `verifier`: references by digest, as in its task.toml",
        "missing": "images that the registry lacks (without `--push`)",
        "holes_are_filled": "tasks not to train on without images: correct work may come too large",
    },
    "check": {"tasks": "name → [GateResult]"},
    "check --matrix": {"tasks": "name → `requirements`, `checks` (`check`, `milestone`, `proves`)"},
    "review": {
        "task": "its name",
        "facts": "name → text",
        "gates": "name → GateResult or null",
        "exploits": "exploits: `name`, `common`, `allowed`, `why`, `gained`",
        "variants": "`name`, `what`, `came_to`",
        "matrix": "lines of the coverage matrix",
        "instruction": "the instruction",
    },
    "rate pack": {"pack": "its digest", "page": "the file", "tasks": "name → digest"},
    "rate links": {"pack": "its digest", "links": "`link`, `for`"},
    "rate read": {
        "kept": "sets of answers that count",
        "rehearsals": "sets that were made to test the page",
        "repeated": "copies",
        "unlinked": "of those kept, how many came by no one-time link",
        "left_out": "`place`, `why`",
        "ratings": "what counts, as the page wrote it (people.md)",
    },
    "rate people": {
        "people": "`id`, `group`, `state`, `since`, `hours`; no names",
        "figures": "how many came how far, and hours",
        "by_group": "the same for each group",
        "target": "where this stands against the target",
        "messages": "files that were written",
    },
    "arena make": {
        "arena": "its digest",
        "page": "the file",
        "key": "the file that says whose they are",
        "pairs": "how many",
        "real_pairs": "those that check no attention",
        "left_out": "reason → trials",
        "repeated": "trials that stand in more than one pair, since there are no others",
        "unnamed": "`task`, `machine` of which no words say what it is for",
    },
    "arena links": {"pack": "the arena's digest", "links": "`link`, `for`"},
    "arena read": {
        "kept": "sets of votes that could be taken",
        "rehearsals": "sets that were made to test the page",
        "unlinked": "of those kept, how many came by no one-time link",
        "left_out": "`place`, `why`",
        "voters": "whose votes count",
        "inattentive": "reason → voters whose votes do not",
        "unseen": "votes on pairs that their voters did not look at, not counted",
        "by": "agent or trial",
        "shown_twice": "`alike`, `of`: answers to the pair that was shown twice",
        "remarks": "`task`, `trial`, `words`: what decided a pair, as voters say",
        "names": "voters who gave one for credit",
        "questions": "`question`, counts, `standings`, `strengths`, `tiers`, `leans`, "
        "`beside_verdicts` (arena.md)",
    },
    "doctor": {
        "fit": "whether the main job can run here",
        "checks": "`name`, `state` (ok, missing, broken …), `detail`, `hint`, `needed`",
    },
    "agents": {
        "agents": "`name`, `title`, `version`, `installed`, `layer`, `path`, `megabytes`, "
        "`content`, `runtime`, `musl`"
    },
    "agents install": {"layers": "the layers that are there now"},
    "agents update": {"lock_file": "the file", "agents": "`name`, `before`, `now`"},
    "agents doctor": {"agents": "what was seen of each"},
    "watch": {
        "jobs": "folders",
        "is_running": "whether a process works on them",
        "planned": "trials in all",
        "finished": "trials with a result",
        "cut_off": "trials that a process left without one",
        "tokens": "tokens, as far as they are counted",
        "usd": "US dollars, as far as they are counted",
        "unknown_answers": "answers of a model whose tokens nobody knows",
        "cells": "task × agent: what each came to",
        "running": "trials under way, with their phase",
        "errors": "`cause`, `count`, `message`",
        "slowest": "the trials that took longest",
    },
    "sweep": {
        "sweep": "its name",
        "planned": "trials in all",
        "finished": "trials with a result",
        "hours_left": "`likely` (null where nothing is known), `most`",
        "budget": "`max_usd`, `max_tokens`",
        "spent": "what was spent",
        "stopped": "why nothing is started any more, or empty",
        "jobs": "folders",
        "cells": "`task`, `version`, `hint`, `who`, `attempts`, `trials`, and counts by verdict",
    },
    "export": {
        "folder": "where the tables are",
        "files": "their names",
        "rows": "table → number of rows",
    },
    "site": {
        "folder": "where the pages are",
        "n_pages": "pages",
        "n_files": "files",
        "n_bytes": "bytes",
        "seconds": "how long it took",
        "notes": "what this machine could not add",
        "n_problems": "what could not be read as it should be",
    },
    "clean": {
        "home": "the folder of all that is kept",
        "leftovers": "sandboxes of killed runs that were removed",
        "stores": "`name`, `megabytes`, `what`, `option`",
    },
    "drive instruction": {"instruction": "what the task asks for"},
    "drive run": {
        "status": "the command's",
        "timed_out": "whether its timeout ended it",
        "seconds": "how long it took",
        "stdout": "text, or base64",
        "stdout_encoding": "`utf-8` or `base64`",
        "stderr": "text, or base64",
        "stderr_encoding": "`utf-8` or `base64`",
        "left_out": "bytes of `stdout` and `stderr` that were left out",
    },
    "drive time, submit": {
        "worked": "seconds",
        "limit": "seconds, null without a limit",
        "left": "seconds, null without a limit",
        "submitted": "true, of `submit` alone",
    },
}
_OTHERS = """\
`report` and `compare` print estimates: `report` has `entries`, `pairs`, `milestones`, `failures`, \
`problems` and one key for each further part of the report; a part that the data do not support \
is `{"refused": why}`. `compare` has `a`, `b`, the difference a − b with its intervals, `decided` \
and `need`. [analysis.md](../analysis.md) explains the estimates. The file formats of a job folder \
are in [results.md](../results.md), those of a verification in [checks.md](../checks.md).
"""


def page() -> str:
    """The whole page."""
    parts = [_INTRODUCTION, "## Documents\n"]
    for verb, keys in DOCUMENTS.items():
        parts.append(f"### {verb}\n")
        parts.append(table(["key", "value"], [[f"`{k}`", _linked(v)] for k, v in keys.items()]))
    parts += ["### report, compare\n", _OTHERS, "## Types\n"]
    for name in TYPES:
        parts += [
            f"### {name}\n",
            f"{_says(name)}\n",
            table(["key", "type", "default"], _rows(name)),
        ]
    return "\n".join(parts)


def keys_of(name: str) -> set[str]:
    """The keys that a value of this type is printed with."""
    return {field.name for field in fields(_class(name))} | set(ADDED.get(name, {}))


def _linked(value: str) -> str:
    for name in sorted(TYPES, key=len, reverse=True):
        if value.startswith((name, f"[{name}]", f"name → {name}", f"name → [{name}]")):
            listed = f"list of [{name}](#{name.lower()})"
            link = f"[{name}](#{name.lower()})"
            return (
                value.replace(f"[{name}]", listed, 1)
                if "[" in value
                else value.replace(name, link, 1)
            )
    return value


def _class(name: str) -> ast.ClassDef:
    return classes(TYPES[name])[name]


def _says(name: str) -> str:
    return " ".join((ast.get_docstring(_class(name)) or "").split())


def _rows(name: str) -> list[list[str]]:
    rows = [
        [f"`{field.name}`", f"`{field.type}`", f"`{field.default}`" if field.default else ""]
        for field in fields(_class(name))
    ]
    return rows + [[f"`{key}`", says, ""] for key, says in ADDED.get(name, {}).items()]
