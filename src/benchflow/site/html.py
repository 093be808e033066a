"""Pages as HTML: Jinja2 with escaping on, a strict policy, no script or style in the page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from benchflow.site.page_model import Link, Page

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
    Link("Hosts", "hosts.html"),
    Link("Ledger", "ledger.html"),
)

#: Where ratings, and votes, are recorded.
EXPERTS = Link("Experts", "experts.html")
VOTES = Link("Votes", "votes.html")

#: A page of so many needs no list of them.
_FEW_SECTIONS = 3


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
    """What all pages of a site share. `further`: pages that not every site has. `live`: the page
    asks its server for news."""

    title: str
    footer: str
    has_player: bool = False
    further: tuple[Link, ...] = ()
    live: bool = False

    def render(self, page: Page) -> str:
        """The page as a whole HTML document."""
        root = "../" * page.depth
        head, header = _frame(self, root, page.scripts, page.nav)
        return _template("page.html.j2").render(
            # Importing them in the template would make them anew for each page.
            blocks=_template("blocks.html.j2").module,
            has_contents=sum(1 for section in page.sections if section.title) > _FEW_SECTIONS,
            page=page,
            shell=self,
            root=root,
            stem=page.path.rsplit("/", 1)[-1].removesuffix(".html"),
            head=head,
            header=header,
        )


@lru_cache(64)
def _frame(shell: Shell, root: str, scripts: tuple[str, ...], here: str) -> tuple[str, str]:
    """What loads a page's style and scripts, and what stands above it, as HTML."""
    macros: Any = _template("frame.html.j2").module
    allowed = policy("'self'" if shell.live else "'none'")
    head = macros.head(shell, root, scripts, allowed)
    return head, macros.header(shell, root, (*NAVIGATION, *shell.further), here)


@cache
def _template(name: str) -> Template:
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    from benchflow.base import numbers, templates
    from benchflow.site import attempt_dots

    environment = templates.environment("benchflow.site")
    # Pages are made of objects alone. Jinja's own way tries a mapping's key next, and takes a tenth
    # of the time of a large site.
    environment.getattr = getattr  # type: ignore[assignment, method-assign]
    environment.globals["is_link"] = lambda part: isinstance(part, Link)
    environment.globals["dots"] = attempt_dots.as_html
    environment.filters["duration"] = numbers.duration
    environment.filters["count"] = numbers.count
    environment.filters["dashed"] = lambda text: text.replace(" ", "-")
    return environment
