"""Where a gateway listens: to agents in their sandboxes, and to the orchestrator."""
