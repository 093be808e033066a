"""Agents that do not speak a model's protocol: LiteLLM, and the wall around it."""
