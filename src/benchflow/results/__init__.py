"""Finished work, read back: job folders into trials, verdicts, ladders and times.

Reads any Harbor job folder. Knows Harbor's files, not Harbor: nothing here imports it.
"""
