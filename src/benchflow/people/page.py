"""Pages of questions: one HTML file with all that it needs, which asks nothing of any network."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec

from benchflow.base import templates
from benchflow.base.numbers import percents
from benchflow.people import rating
from benchflow.people.markdown import as_html
from benchflow.people.pack import Pack
from benchflow.people.server import Served

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def render(pack: Pack, served: Served | None) -> str:
    """The page of `pack`; `served`: with a button that sends, else one that saves a file."""
    about = {
        "kind": "rating",
        "pack": pack.digest,
        "rehearsal": pack.rehearsal,
        "tasks": [{"name": task.name, "digest": task.digest} for task in pack.tasks],
        "pairs": pack.pairs,
        "served": served and {"post": served.post, "csrf": served.csrf, "link": served.link},
    }
    return whole_page("rate.html.j2", "rate", about, served, pack=pack, rating=rating)


def render_policy(served: Served | None) -> str:
    """The content security policy that the page carries, for its server to say too."""
    return policy("rate", served)


def whole_page(template: str, name: str, about: Any, served: Served | None, **more: Any) -> str:
    """`template` with `<name>.css` and `<name>.js` of this package, what all pages of questions
    share, and `about` as JSON for the script."""
    from markupsafe import Markup

    return (
        _environment()
        .get_template(template)
        .render(
            **more,
            served=served,
            about=Markup(for_script(about)),
            sheet=Markup(_sheet(name)),
            script=Markup(_script(name)),
            policy=policy(name, served),
        )
    )


def policy(name: str, served: Served | None) -> str:
    """Nothing but the page's own style and script, by their hashes; it may only send, and only to
    its own server."""
    return (
        f"default-src 'none'; script-src '{_hash(_script(name))}'; "
        f"style-src '{_hash(_sheet(name))}'; img-src data:; "
        f"connect-src {"'self'" if served else "'none'"}; base-uri 'none'; form-action 'none'"
    )


def for_script(value: Any) -> str:
    """JSON that may stand in a script element: no text in it can end that element."""
    text = msgspec.json.encode(value).decode()
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _sheet(name: str) -> str:
    # One look for all pages that benchflow makes; a file, not an import: `site` is above this.
    shared = (files("benchflow.site") / "assets" / "style.css").read_text(encoding="utf-8")
    return shared + _asset("answers.css") + _asset(f"{name}.css")


@cache
def _script(name: str) -> str:
    return _asset("answers.js") + _asset(f"{name}.js")


def _asset(name: str) -> str:
    path = files("benchflow.people") / "assets" / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


@cache
def _environment() -> Environment:
    environment = templates.environment("benchflow.people")
    environment.filters["markdown"] = _marked
    environment.globals["percents"] = percents
    environment.globals["zip"] = zip
    return environment


def _marked(text: str) -> Markup:
    from markupsafe import Markup

    return Markup(as_html(text))
