"""The machine that a trial runs on: which it is, and how fast it was."""
