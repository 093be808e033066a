"""An agent that prints in the orchestrator's own process, as libraries of agents do."""

from __future__ import annotations

from typing import override

from harbor.agents.nop import NopAgent


class Chatty(NopAgent):
    """Does nothing, and says so where nobody asked."""

    @staticmethod
    @override
    def name() -> str:
        return "chatty"

    @override
    def populate_context_post_run(self, context: object) -> None:
        print("Provider List: somewhere")
