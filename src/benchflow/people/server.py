"""The server of `benchflow rate serve`: one-time links to pages of questions, and their answers.

Whatever is asked comes in as a `Questionnaire`: ratings of tasks, votes on results. Nothing is
loaded from elsewhere, no address is written down, and a link is worth one set of answers.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from socket import AF_INET, AF_INET6, create_server
from socket import socket as Socket
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from benchflow.people.answers import MOST_BYTES, BadAnswers, Body, Signed
from benchflow.people.rate_limit import RateLimit
from benchflow.people.store import Store

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

_COOKIE = "benchflow_csrf"
_HEADER = "x-benchflow-csrf"
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex, nofollow",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_PLAIN = (
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_SHEET = (
    ":root{color-scheme:light dark}body{font:1.05rem/1.6 system-ui,sans-serif;max-width:34rem;"
    "margin:12vh auto;padding:0 1.2rem;background:light-dark(#fbfaf7,#121619);"
    "color:light-dark(#1c2124,#e6e4df)}h1{font:600 1.7rem/1.3 Georgia,serif;margin:0 0 .8rem}"
    "button{font:inherit;font-weight:600;padding:.7rem 1.2rem;border:0;border-radius:8px;"
    "background:light-dark(#17566b,#7cc3d9);color:light-dark(#fff,#06181d);cursor:pointer}"
)


@dataclass(frozen=True)
class Served:
    """What a page has to know to send its answers: where to, and with which token."""

    post: str
    csrf: str
    link: str


class Questionnaire(Protocol):
    """What is asked of people by a link."""

    @property
    def digest(self) -> str:
        """What answers name as their `pack`."""
        ...

    def page(self, served: Served | None) -> str:
        """The whole page; None: for a file, which sends nothing."""
        ...

    def page_policy(self, served: Served | None) -> str:
        """The content security policy that the page needs."""
        ...

    def check(self, data: bytes) -> Signed[Body]:
        """Answers to this very questionnaire from one envelope. Raises BadAnswers."""
        ...


def app(
    asked: Iterable[Questionnaire], store: Store, *, url: str = "", behind_proxy: bool = False
) -> Starlette:
    """The application. `url`: how people reach it (scheme and host), where that is not how it is
    called; `behind_proxy`: addresses for the limits come from the last X-Forwarded-For."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    made = _Server({one.digest: one for one in asked}, store, url.rstrip("/"), behind_proxy)
    return Starlette(
        routes=[
            Route("/", made.root),
            Route("/r/{code}", made.show),
            Route("/r/{code}", made.take, methods=["POST"]),
            Route("/delete/{token}", made.ask_to_delete),
            Route("/delete/{token}", made.delete, methods=["POST"]),
        ],
        exception_handlers={404: made.missing},
    )


class _Server:
    def __init__(
        self, asked: dict[str, Questionnaire], store: Store, url: str, behind_proxy: bool
    ) -> None:
        self._asked = asked
        self._store = store
        self._url = url
        self._behind_proxy = behind_proxy
        # Looking is cheap; guessing codes and sending are what a machine would do often.
        self._looks = RateLimit(burst=60, per_minute=60)
        self._misses = RateLimit(burst=20, per_minute=4)
        self._sends = RateLimit(burst=10, per_minute=6)

    async def root(self, request: Request) -> Response:
        return self._say(request, 200, "Nothing to see", "Open the link that you were given.")

    async def missing(self, request: Request, error: Exception) -> Response:
        words = "Open the whole link that you were given, or ask who sent it for another."
        return self._say(request, 404, "There is no such page", words)

    async def show(self, request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import HTMLResponse

        if not self._looks.allows(self._who(request)):
            return self._too_often(request)
        code = request.path_params["code"]
        link = await run_in_threadpool(self._store.link, code)
        asked = self._asked.get(link.pack) if link else None
        if link is None or asked is None:
            if not self._misses.allows(self._who(request)):
                return self._too_often(request)
            return await self.missing(request, Exception())
        if link.answered:
            words = (
                "To change them, delete them first, with the link that you got when you sent them; "
                "then this one opens the questions again."
            )
            return self._say(request, 410, "Thank you: answers came by this link", words)
        if request.method == "GET":
            await run_in_threadpool(self._store.open_link, code)
        csrf = secrets.token_urlsafe(24)
        served = Served(f"/r/{code}", csrf, link.hash)
        policy = asked.page_policy(served) + "; frame-ancestors 'none'"
        headers = {**_HEADERS, "Content-Security-Policy": policy}
        response = HTMLResponse(asked.page(served), headers=headers)
        self._set_cookie(response, csrf, f"/r/{code}")
        return response

    async def take(self, request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import JSONResponse

        def refuse(status: int, why: str) -> Response:
            return JSONResponse({"refused": why}, status, headers=_HEADERS)

        if not self._sends.allows(self._who(request)):
            return refuse(429, "too often: wait a minute and send again")
        given = request.headers.get(_HEADER, "")
        if not self._is_from_here(request, given):
            return refuse(403, "this did not come from the page itself: open your link again")
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return refuse(415, "answers are sent as JSON")
        data = await _bounded(request)
        if data is None:
            return refuse(413, f"answers of more than {MOST_BYTES:,} bytes are not taken")
        code = request.path_params["code"]
        link = await run_in_threadpool(self._store.link, code)
        asked = self._asked.get(link.pack) if link else None
        if asked is None:
            return refuse(404, "this link is not known or was used already")
        try:
            signed = await run_in_threadpool(asked.check, data)
            token = await run_in_threadpool(self._store.take, code, signed)
        except BadAnswers as error:
            return refuse(422, error.message)
        where = f"{self._origin(request)}/delete/{token}"
        return JSONResponse({"deletion": where}, headers=_HEADERS)

    async def ask_to_delete(self, request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        token = request.path_params["token"]
        if not self._misses.allows(self._who(request)):
            return self._too_often(request)
        if not await run_in_threadpool(self._store.has_token, token):
            words = "They were deleted, or the link is not whole."
            return self._say(request, 404, "There are no such answers", words)
        csrf = secrets.token_urlsafe(24)
        form = (
            f'<form method="post"><input type="hidden" name="csrf" value="{escape(csrf)}">'
            "<button>Delete my answers</button></form>"
        )
        words = "They are removed for good. The link to the questions then works once more."
        response = self._say(request, 200, "Delete your answers?", words, form)
        self._set_cookie(response, csrf, f"/delete/{token}")
        return response

    async def delete(self, request: Request) -> Response:
        from urllib.parse import parse_qs

        from starlette.concurrency import run_in_threadpool

        if not self._sends.allows(self._who(request)):
            return self._too_often(request)
        body = await _bounded(request)
        given = parse_qs((body or b"").decode("utf-8", "replace")).get("csrf", [""])[0]
        if not self._is_from_here(request, given):
            words = "Open the deletion link again and press the button there."
            return self._say(request, 403, "This did not come from the page itself", words)
        if not await run_in_threadpool(self._store.delete, request.path_params["token"]):
            return self._say(request, 404, "There are no such answers", "They were deleted.")
        return self._say(request, 200, "Your answers are deleted", "Nothing of them is left here.")

    def _is_from_here(self, request: Request, given: str) -> bool:
        """The page's own token comes back in two ways, and the browser names no other origin."""
        kept = request.cookies.get(_COOKIE, "")
        origin = request.headers.get("origin")
        if origin is not None and origin != self._origin(request):
            return False
        return bool(kept) and secrets.compare_digest(kept.encode(), given.encode())

    def _origin(self, request: Request) -> str:
        return self._url or f"{request.url.scheme}://{request.url.netloc}"

    def _who(self, request: Request) -> str:
        if self._behind_proxy:
            return request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
        return request.client.host if request.client else ""

    def _set_cookie(self, response: Response, csrf: str, path: str) -> None:
        is_secure = urlsplit(self._url).scheme == "https"
        response.set_cookie(
            _COOKIE, csrf, path=path, httponly=True, samesite="strict", secure=is_secure
        )

    def _too_often(self, request: Request) -> Response:
        return self._say(request, 429, "Too often", "Wait a minute and try again.")

    def _say(
        self, request: Request, status: int, title: str, words: str, form: str = ""
    ) -> Response:
        from starlette.responses import HTMLResponse

        page = (
            '<!doctype html><html lang="en"><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(title)}</title><style>{_SHEET}</style>"
            f"<main><h1>{escape(title)}</h1><p>{escape(words)}</p>{form}</main></html>"
        )
        # A form that is sent from a page with no referrer names no origin, which is refused here.
        headers = {
            **_HEADERS,
            "Content-Security-Policy": _PLAIN,
            "Referrer-Policy": "same-origin",
        }
        return HTMLResponse(page, status, headers=headers)


async def _bounded(request: Request) -> bytes | None:
    """The body; None as soon as it is seen to be too large, without reading the rest."""
    length = request.headers.get("content-length", "0")
    if not length.isdigit() or int(length) > MOST_BYTES:
        return None
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > MOST_BYTES:
            return None
    return bytes(data)


@dataclass(frozen=True)
class Listener:
    """A socket that listens already, so that its port is known before anything is served."""

    socket: Socket

    @property
    def port(self) -> int:
        """The port, also where any free one was asked for."""
        return int(self.socket.getsockname()[1])

    def server(self, application: Starlette) -> uvicorn.Server:
        """What serves on it. No request is logged: addresses are nobody's business."""
        import uvicorn

        config = uvicorn.Config(
            application,
            access_log=False,
            log_level="warning",
            server_header=False,
            proxy_headers=False,
            limit_concurrency=100,
            timeout_keep_alive=5,
        )
        return uvicorn.Server(config)

    def run(self, application: Starlette) -> None:
        """Serves until it is interrupted."""
        self.server(application).run(sockets=[self.socket])


def listen(host: str, port: int) -> Listener:
    """A listener on `host`; port 0 takes any that is free. Raises OSError."""
    return Listener(create_server((host, port), family=AF_INET6 if ":" in host else AF_INET))
