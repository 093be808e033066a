"""`benchflow tasks`: the catalogue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchflow.cli.options import jobs_dir_option, json_option, print_json

if TYPE_CHECKING:
    from benchflow.authoring.gate_record import Standing
    from benchflow.tasks import Exploit, Task
    from benchflow.tasks.reviews import Reviews


@click.group("tasks", invoke_without_command=True)
@click.option("--split", metavar="NAME", help="The drawn tasks of a published split instead.")
@json_option
@click.pass_context
def command(context: click.Context, split: str | None, as_json: bool) -> None:
    """List, show, validate and export the tasks.

    A task is named as in the catalogue (repair/dead-server), by a glob ('repair/*') or by the path
    of any Harbor task folder.

    \b
    Examples:
      benchflow tasks
      benchflow tasks show repair/dead-server
      benchflow tasks validate ./my-task
      benchflow tasks export ./dataset 'repair/*'    then: harbor run -p ./dataset
      benchflow tasks show 'repair/server#17'        a task drawn from a seed
      benchflow tasks --split public                 names of drawn tasks that are pinned
    """
    if context.invoked_subcommand is None:
        context.invoke(list_command, split=split, as_json=as_json)
    elif as_json:
        name = context.invoked_subcommand
        raise click.UsageError(f"put --json behind {name}: benchflow tasks {name} … --json")


@command.command("list")
@click.option("--split", metavar="NAME", help="The drawn tasks of a published split instead.")
@json_option
def list_command(split: str | None, as_json: bool) -> None:
    """List the tasks by topic, one per line, with how many of its gates each has passed.

    With --split, the pinned instances of generators that were published under that name, each as
    it is named on the command line.
    """
    from benchflow.cli.as_typed import as_typed
    from benchflow.cli.table import colour, table
    from benchflow.tasks import catalogue

    if split:
        from benchflow.generators.instances import split as instances_of
        from benchflow.tasks.catalogue import root

        references = [one.reference for one in instances_of(split, root())]
        if as_json:
            print_json({"schema": 1, "split": split, "instances": references})
        else:
            click.echo("\n".join(references))
        return
    tasks = catalogue()
    if as_json:
        listed = [{**vars(task), "state": _state(task, _standing(task))} for task in tasks]
        print_json({"schema": 1, "tasks": listed})
        return
    header = ["task", "machine", "milestones", "expert", "gates", "tried by others"]
    lines = table(header, [_line(task) for task in tasks]).splitlines()
    click.echo(lines[0])
    topic = ""
    for task, line in zip(tasks, lines[1:], strict=True):
        if task.name.partition("/")[0] != topic:
            topic = task.name.partition("/")[0]
            click.echo(colour(topic, "heading"))
        click.echo(line)
    click.echo(
        "\nexpert: what a person would need, estimated. gates: tests of the task itself that it "
        "has\npassed; a pass lapses when something that it depends on changes. tried by others: "
        "this version,\nby somebody who knew the instruction alone (attempts), or who tried to "
        "pass without the work (attacks)."
    )
    click.echo(
        as_typed("More: benchflow tasks show TASK; try one: benchflow run TASK --agent oracle")
    )


def _line(task: Task) -> list[str]:
    from benchflow.base.numbers import duration

    return [
        f"  {task.name}",
        f"{task.arch} {task.firmware}",
        f"{len(task.milestones) + sum(len(s.milestones) for s in task.steps)}",
        duration(task.expert_minutes * 60) if task.expert_minutes else "",
        *[*_state(task, _standing(task)).split("; "), ""][:2],
    ]


def _standing(task: Task) -> Standing | None:
    """What is recorded of its gates; it takes a while to find out."""
    from benchflow.authoring.gate_record import standing

    return standing(task) if task.is_benchflow else None


def _state(task: Task, found: Standing | None) -> str:
    """Gates, then attempts and attacks of the present version; verified when none is missing."""
    from benchflow.authoring.check import GATES
    from benchflow.tasks import reviews

    if not task.is_benchflow:
        return ""
    recorded = str(found or "no gates recorded")
    ever = reviews.read(task.path)
    tried = ever.at(task.version)
    whole = found is not None and found.good == len(GATES) and tried.complete
    counted = _counted(tried)
    if not tried.attempts and not tried.attacks:
        before = f", {_counted(ever)} before" if ever.attempts or ever.attacks else ""
        counted = f"none at this version{before}"
    verified = "; verified" if whole and not task.unverified else ""
    return f"{recorded}; {counted}" + ("; not verified" if task.unverified else verified)


def _counted(found: Reviews) -> str:
    from benchflow.base.numbers import plural

    return f"{plural(len(found.attempts), 'attempt')}, {plural(len(found.attacks), 'attack')}"


@command.command("show")
@click.argument("task")
@json_option
def show_command(task: str, as_json: bool) -> None:
    """Show what one task asks for, and how it is proved.

    \b
    Example:
      benchflow tasks show repair/dead-server
    """
    from benchflow.authoring import size
    from benchflow.base.numbers import duration
    from benchflow.base.text import one_line
    from benchflow.cli.table import table
    from benchflow.tasks import find
    from benchflow.tasks.contributors import credited

    found = find(task)
    if as_json:
        print_json({"schema": 1, "task": found})
        return
    recorded = _standing(found)
    click.echo(f"{found.name} {found.version}  ({found.digest[:12]})\n{found.description}\n")
    facts = [
        ["authors", credited(found.contributions, of_authors=True)],
        ["reviewers", credited(found.contributions, of_authors=False)],
        ["folder", str(found.path)],
        ["machine", f"{found.arch}, {found.firmware}" if found.arch else ""],
        ["skills", ", ".join(found.skills)],
        ["time limits", _limits(found.agent_timeout_sec, found.verifier_timeout_sec)],
        ["expert", duration(found.expert_minutes * 60) if found.expert_minutes else ""],
        ["oracle", duration(found.oracle_minutes * 60) if found.oracle_minutes else ""],
        ["needs", ", ".join(found.needs)],
        ["begins from", _beginning(found)],
        ["deliverables", ", ".join(f"{d.path} ({d.kind})" for d in found.deliverables)],
        ["oracle's are", size.delivered(recorded.held("size") if recorded else None)],
        ["hints", str(len(found.hints)) if found.hints else ""],
        ["exploits", ", ".join(exploit.name for exploit in found.exploits)],
        ["variants", ", ".join(variant.name for variant in found.variants)],
        ["gates", _state(found, recorded)],
        ["changed since", ", ".join(recorded.changed if recorded else ())],
        ["unverified", found.unverified],
        *_reviewed(found),
        *_rated(found),
    ]
    click.echo("\n".join(f"{key:<13} {value}" for key, value in facts if value))
    for exploit in (*found.exploits, *found.common_exploits):
        why = f": {exploit.why}" if exploit.why else ""
        click.echo(f"  exploit {exploit.name} may reach {_reach(exploit, found)}{why}")
    for variant in found.variants:
        click.echo(f"  variant {variant.name}: {one_line(variant.what, 300)}")
    rows = [
        [f"{prefix}{m.id}", f"{m.weight:g}", f"{len(m.checks)}", ", ".join(m.requires), m.title]
        for prefix, milestones in [
            ("", found.milestones),
            *((f"{step.name}/", step.milestones) for step in found.steps),
        ]
        for m in milestones
    ]
    if rows:
        header = ["milestone", "weight", "checks", "requires", "what it proves"]
        click.echo("\n" + table(header, rows))


def _beginning(task: Task) -> str:
    begins = task.sequel
    return f"what {begins.earlier.name} delivers, in {begins.place}" if begins else ""


def _reach(exploit: Exploit, task: Task) -> str:
    """The milestones that an exploit may reach; where they are most, those that it may not."""
    ids = [milestone.id for milestone in task.milestones]
    barred = [name for name in ids if name not in exploit.allowed]
    if not exploit.allowed:
        return "no milestone"
    if len(barred) < len(exploit.allowed):
        return f"all milestones but {', '.join(barred)}" if barred else "all milestones"
    return ", ".join(exploit.allowed)


def _reviewed(task: Task) -> list[list[str]]:
    """A line an attempt and an attack, whatever the version."""
    from benchflow.base.text import one_line
    from benchflow.tasks import reviews

    found = reviews.read(task.path)
    lines = []
    for one in found.attempts:
        before = f" ({one.first} at first)" if one.first else ""
        faults = (f"{f.check} failed, the fault of the {f.fault}" for f in one.failures)
        blame = "".join(f"; {fault}" for fault in faults)
        text = f"version {one.versions}, {one.date}: {one.verdict}{before}, {one.minutes:g} min, "
        lines.append(["attempt", one_line(f"{text}{one.calls} commands{blame}", 400)])
    for attack in found.attacks:
        text = f"{attack.version}, {attack.date}: {attack.minutes:g} min, "
        text += f"{len(attack.held)} held, {len(attack.worked)} worked and were stopped"
        lines.append(["attack", text])
    return lines


def _rated(task: Task) -> list[list[str]]:
    """What experts say of it as it is, where ratings are recorded and can be counted here."""
    from importlib.util import find_spec

    if find_spec("statsmodels") is None or find_spec("krippendorff") is None:
        return []
    from benchflow.people import said_words

    return said_words.of_task(task)


def _limits(agent: float, verifier: float) -> str:
    from benchflow.base.numbers import duration

    parts = [f"agent {duration(agent)}" if agent else ""]
    parts.append(f"verifier {duration(verifier)}" if verifier else "")
    return ", ".join(part for part in parts if part)


@command.command("validate")
@click.argument("task", nargs=-1, required=True)
@json_option
def validate_command(task: tuple[str, ...], as_json: bool) -> int:
    """Read tasks and name every problem: file, key, what is wrong, what fixes it.

    Plain Harbor folders, too: what Harbor or the namespace sandbox of this machine would refuse,
    and what would pass and then be charged to the agent. Nothing is built or fetched.

    \b
    Examples:
      benchflow tasks validate ./my-task
      benchflow tasks validate ./dataset --json

    Exit status: 0 when nothing is wrong, 3 when something is.
    """
    from benchflow.cli.validate import validate

    return validate([*task], as_json=as_json)


@command.command("export")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.argument("task", nargs=-1)
@click.option(
    "--hint",
    type=click.IntRange(0, 3),
    default=0,
    help="Number of hints to add to the instruction (0-3).",
)
@click.option(
    "--from-trial",
    default="",
    metavar="JOB/TRIAL",
    help="For a sequel: the earlier trial, whose deliverable goes into the images.",
)
@jobs_dir_option
@click.option(
    "--images",
    default="",
    metavar="REGISTRY/PREFIX",
    help="Name both images of each task by digest, below this prefix, in its task.toml.",
)
@click.option("--push", is_flag=True, help="Build and push the images that the registry lacks.")
@click.option(
    "--layout",
    type=click.Choice(["flat", "hf"]),
    default="flat",
    help="hf: DIRECTORY/tasks/NAME and a data set card, as the Hugging Face Hub has them.",
)
@json_option
def export_command(
    directory: Path,
    task: tuple[str, ...],
    hint: int,
    from_trial: str,
    jobs_dir: Path,
    images: str,
    push: bool,
    layout: str,
    as_json: bool,
) -> None:
    """Write tasks as a self-contained Harbor dataset that runs without us.

    Each has a DATASHEET.md (benchflow tasks datasheet TASK). Nothing is overwritten.

    With --images the agent's and the verifier's image of each task are named in its task.toml, by
    the digest that the registry has, as trainers want it. Without --push nothing is built or sent:
    references are written for the tasks of which the registry has both images, and what it lacks
    is said. Credentials are those of buildah, podman or docker login. A registry on localhost is
    spoken to without TLS. What the agent delivers then crosses to the verifier as one compressed
    archive without the holes of disks.

    \b
    Examples:
      benchflow tasks export ./dataset
      benchflow tasks export ./dataset repair/dead-server --hint 1
      benchflow tasks export ./dataset --images localhost:5000/benchflow --push
      benchflow tasks export ./hub --layout hf
      benchflow tasks export ./dataset my/sequel --from-trial JOB/TRIAL
    """
    from benchflow.authoring.publish import dataset
    from benchflow.run.job.from_trial import begun_from
    from benchflow.tasks import catalogue, select

    if push and not images:
        raise click.UsageError("--push needs a place: --images REGISTRY/PREFIX")
    tasks = select([*task]) if task else catalogue()
    below = directory / "tasks" if layout == "hf" else directory
    there = sum((below / one.slug).exists() for one in tasks)
    made = dataset.write(
        tasks,
        directory,
        hint,
        begun={one.name: begun_from(one, from_trial, jobs_dir) for one in tasks},
        images=images,
        push=push,
        hub=layout == "hf",
        on_progress=lambda line: click.echo(line, err=True),
    )
    sparse = [
        one.name
        for one in tasks
        if one.name not in made.images and any(d.max_stored_mb < d.max_mb for d in one.deliverables)
    ]
    if as_json:
        named = {
            name: {one.role: one.reference for one in pair} for name, pair in made.images.items()
        }
        print_json(
            {
                "schema": 1,
                "exported": made.folders,
                "images": named,
                "missing": made.missing,
                "holes_are_filled": sparse,
            }
        )
        return
    for path in made.folders:
        click.echo(str(path))
    for reference in made.missing:
        click.echo(f"not in the registry: {reference} (--push sends it)", err=True)
    if there:
        click.echo(f"{there} of {len(tasks)} were there already, with the same content", err=True)
    if sparse:
        click.echo(
            f"\nDo not train on these without --images: {', '.join(sparse)}. Harbor's docker "
            "environment fills the holes of disk images, so correct work can be judged too large "
            "and get 0. With --images it crosses as an archive that keeps them (docs/trainers.md).",
            err=True,
        )
    click.echo(f"\nTry it: harbor run -p {below} --agent oracle", err=True)


@command.command("datasheet")
@click.argument("task")
@json_option
def datasheet_command(task: str, as_json: bool) -> None:
    """Print what is proved of a task and what is not, with the command that computes each line.

    It is made from records: gates with their days, exploits with declared gains, variants,
    attempts by others, measured trials, limits. Each exported task has it as DATASHEET.md.

    \b
    Example:
      benchflow tasks datasheet repair/dead-server
    """
    from benchflow.authoring.publish.datasheet import datasheet
    from benchflow.tasks import find

    found = find(task)
    text = datasheet(found)
    if as_json:
        print_json({"schema": 1, "task": found.name, "markdown": text})
    else:
        click.echo(text, nl=False)
