"""An instruction as HTML that loads nothing: no raw HTML, no pictures, only links to the web."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

#: The page has headings of its own above an instruction.
_DEEPER = 2


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


def as_html(text: str) -> str:
    """`text` as HTML, escaped, headings two levels deeper. A link opens a tab of its own and tells
    nobody where it came from; one that leads nowhere on the web becomes plain text."""
    parser = _parser()
    tokens = parser.parse(text)
    for at, token in enumerate(tokens):
        if token.type == "th_open" and not tokens[at + 1].content.strip():
            # An empty corner heads nothing.
            token.tag = tokens[at + 2].tag = "td"
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + _DEEPER)}"
        elif token.type in ("fence", "code_block"):
            token.attrSet("tabindex", "0")
        for child in token.children or ():
            if child.type == "link_open":
                is_web = str(child.attrs.get("href", "")).startswith(("https://", "http://"))
                child.attrs = {"href": child.attrs["href"]} if is_web else {}
                child.attrs |= {"target": "_blank", "rel": "noopener noreferrer"} if is_web else {}
    return str(parser.renderer.render(tokens, parser.options, {}))
