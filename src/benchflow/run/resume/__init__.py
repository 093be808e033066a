"""Trials that hang or are cut off: found, ended, kept and resumed."""
