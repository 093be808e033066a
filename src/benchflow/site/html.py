"""Pages as HTML: Jinja2 with escaping on, a strict policy, no script or style in the page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from benchflow.site.content import Link, Page

if TYPE_CHECKING:
    from jinja2 import Environment, Template

NAVIGATION = (
    Link("Overview", "index.html"),
    Link("Matrix", "matrix.html"),
    Link("Tasks", "tasks.html"),
    Link("Trials", "trials.html"),
    Link("Comparisons", "comparisons.html"),
    Link("Skills", "skills.html"),
    Link("Ladders", "ladders.html"),
    Link("Failures", "failures.html"),
    Link("Budgets", "budgets.html"),
    Link("Ledger", "ledger.html"),
)


def policy(connect: str) -> str:
    """The content security policy. `file:` lets a page opened from disk load its own scripts;
    WebAssembly is what the console player's terminal runs in."""
    return (
        "default-src 'none'; script-src 'self' file: 'wasm-unsafe-eval'; "
        "style-src 'self' file:; img-src 'self' file: data:; font-src 'self' file: data:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'"
    )


@dataclass(frozen=True)
class Shell:
    """What all pages of a site share. `live`: the page asks its server for news."""

    title: str
    footer: str
    has_player: bool = False
    live: bool = False

    def render(self, page: Page) -> str:
        """The page as a whole HTML document."""
        return _template().render(
            page=page,
            shell=self,
            root="../" * page.depth,
            stem=page.path.rsplit("/", 1)[-1].removesuffix(".html"),
            navigation=NAVIGATION,
            policy=policy("'self'" if self.live else "'none'"),
        )


@cache
def _template() -> Template:
    return _environment().get_template("page.html.j2")


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from benchflow.site import tried, words

    environment = Environment(
        loader=PackageLoader("benchflow.site", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Pages are made of objects alone. Jinja's own way tries a mapping's key next, and takes a tenth
    # of the time of a large site.
    environment.getattr = getattr  # type: ignore[assignment, method-assign]
    environment.globals["is_link"] = lambda part: isinstance(part, Link)
    environment.globals["dots"] = tried.as_html
    environment.filters["duration"] = words.duration
    environment.filters["count"] = words.count
    environment.filters["dashed"] = lambda text: text.replace(" ", "-")
    return environment
