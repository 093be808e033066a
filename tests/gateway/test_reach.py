"""Whether somebody listens where a model is said to be served, asked before agents wait."""

from __future__ import annotations

import socket

from benchflow.gateway.models.providers import route
from benchflow.gateway.models.reach import silent


def test_an_address_that_takes_a_connection_is_not_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        assert silent([route(f"{url}#mine", {})]) == {}


def test_one_where_nobody_listens_is_named_once_with_the_reason() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
    routes = [route(f"{url}#mine", {}), route(f"{url}#other", {})]
    assert silent(routes) == {url: "Connection refused"}


def test_a_port_that_is_none_is_named() -> None:
    assert silent([route("http://127.0.0.1:99999/v1#mine", {})]) == {
        "http://127.0.0.1:99999/v1": "that is no address"
    }


def test_providers_are_not_asked() -> None:
    assert silent([route("openai/gpt-5", {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": ""})]) == {}
