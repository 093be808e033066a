"""The address of a Ray cluster that is none: said at once, with what to do."""

from __future__ import annotations

import socket
import time

import pytest

from benchflow.errors import InfrastructureError
from benchflow.run.ray_engine.cluster import Cluster

pytest.importorskip("ray")


def test_where_nothing_listens_it_is_said_within_seconds() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        for address in (f"127.0.0.1:{port}", "no.such.host.invalid:6379", "127.0.0.1:99999"):
            began = time.monotonic()
            with pytest.raises(InfrastructureError, match="nothing listens at") as caught:
                Cluster(address)
            assert "ray start --head" in (caught.value.hint or "")
            assert time.monotonic() - began < 15
