"""Sweeps: agents × models × tasks × attempts from one file, under one budget."""
