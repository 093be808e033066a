"""Inspection: what finished trials say, with error bars that tell the truth."""
