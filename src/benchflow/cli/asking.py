"""What `benchflow rate` and `benchflow arena` share: one-time links, and the server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchflow.cli.options import print_json

if TYPE_CHECKING:
    from benchflow.people.server import Questionnaire

LINK_NUMBER = click.IntRange(1, 1000)


def link_options[F: Callable[..., object]](function: F) -> F:
    """`--for` and `--url` of one-time links."""
    noted = click.option("--for", "label", multiple=True, help="A note on whom a link is for; "
                         "repeatable.")  # fmt: skip
    where = click.option("--url", default="", help="Where people reach the server. [default: links "
                         "for the file]")  # fmt: skip
    return noted(where(function))


def serve_options[F: Callable[..., object]](port: int) -> Callable[[F], F]:
    """Where to listen, how it is reached, and how many links to make first."""
    options = [
        click.option("--store", type=click.Path(path_type=Path, dir_okay=False),
                     help="Where links and answers are kept. [default: answers.sqlite of the first "
                     "folder]"),
        click.option("--host", default="127.0.0.1", show_default=True,
                     help="Address to listen on."),
        click.option("--port", type=click.IntRange(0, 65535), default=port, show_default=True),
        click.option("--url", default="", help="How people reach it, behind a proxy: "
                     "https://HOST."),
        click.option("--links", "n_links", type=click.IntRange(0, 1000), default=0,
                     help="Make and print so many one-time links to each page first."),
    ]  # fmt: skip

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def make_links(
    folder: Path, digest: str, page: str, number: int, label: Sequence[str], url: str,
    *, as_json: bool,
) -> None:  # fmt: skip
    """Makes `number` links to what has `digest`, or as many as there are notes; prints them."""
    from benchflow.people.store import NAME, Store

    labels = [*label, *[""] * (number - len(label))]
    codes = Store((folder if folder.is_dir() else folder.parent) / NAME).new_links(digest, labels)
    base = f"{url.rstrip('/')}/r/" if url else f"{page}#link="
    links = [f"{base}{code}" for code in codes]
    if as_json:
        made = [{"link": one, "for": who} for one, who in zip(links, labels, strict=True)]
        print_json({"schema": 1, "pack": digest, "links": made})
        return
    for link, who in zip(links, labels, strict=True):
        click.echo(f"{link}  {who}".rstrip())


def serve(
    asked: Iterable[Questionnaire], store: Path, host: str, port: int, url: str, n_links: int
) -> None:
    """Serves the pages until it is interrupted. Raises UsageError where it cannot listen."""
    from benchflow.errors import UsageError
    from benchflow.people.server import app, listen
    from benchflow.people.store import Store

    questions, kept = list(asked), Store(store)
    try:
        listener = listen(host, port)
    except OSError as error:
        raise UsageError(
            f"{host}, port {port}: {error.strerror}",
            hint="name another --port; 0 takes any that is free",
        ) from error
    reached = url.rstrip("/") or f"http://{host}:{listener.port}"
    for one in questions:
        for code in kept.new_links(one.digest, [""] * n_links):
            click.echo(f"{reached}/r/{code}")
    click.echo(f"listening on {host}:{listener.port}; answers in {kept.path}; Ctrl-C ends it")
    listener.run(app(questions, kept, url=url, behind_proxy=bool(url)))
