"""System calls that a sandbox may not make itself: its supervisor answers them from outside."""
