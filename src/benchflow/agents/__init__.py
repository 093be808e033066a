"""Harbor agents of ours: `ladder`, `exploit` and `scripted` (docs/agents.md)."""
