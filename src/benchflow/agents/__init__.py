"""Harbor agents of ours, from `ladder` to `external` (docs/agents.md)."""
