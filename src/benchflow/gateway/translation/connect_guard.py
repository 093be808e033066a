"""A wall around LiteLLM: what of it runs in this process cannot connect anywhere but home."""

from __future__ import annotations

import sys
import threading
from typing import Any


def build(host: str, port: int) -> None:
    """From now on only the thread that calls this connects to other addresses than `host:port`.

    LiteLLM works in threads of its own, and the providers are called from the gateway's. An audit
    hook sees every connection, whatever library makes it (Python's table of audit events:
    `socket.connect`); it cannot be taken away again.
    """
    free = threading.get_ident()

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event != "socket.connect" or threading.get_ident() == free:
            return
        address = arguments[1]
        if isinstance(address, tuple) and address[:2] != (host, port):
            raise PermissionError("the gateway lets LiteLLM call nobody else")

    sys.addaudithook(hook)
