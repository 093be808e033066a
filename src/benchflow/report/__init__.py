"""Findings in words: sections of sentences and tables, for a terminal and as Markdown."""
