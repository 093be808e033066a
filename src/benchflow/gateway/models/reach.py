"""Whether somebody listens where a model is said to be served."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from benchflow.gateway.config import Route

_SECONDS = 3.0


def silent(routes: Iterable[Route]) -> dict[str, str]:
    """The addresses of models given as URL#NAME that take no connection now, and why.

    Providers are not asked: a proxy may stand between. One that starts to listen later is found
    by the gateway, which tries a call again for minutes.
    """
    found = {}
    urls = {place.url for route in routes if "://" in route.model for place in route.places}
    for url in sorted(urls):
        parts = urlsplit(url)
        try:
            port = parts.port or {"http": 80, "https": 443}[parts.scheme]
            socket.create_connection((parts.hostname or "", port), timeout=_SECONDS).close()
        except OSError as error:
            found[url] = error.strerror or str(error)
        except (KeyError, ValueError):
            found[url] = "that is no address"
    return found
