"""Copies of the deliverable while an agent works, and what each of them is worth afterwards."""
