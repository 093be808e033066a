"""benchflow: hard systems tasks for coding agents, verified by booting what they built."""

__version__ = "0.1.0"
