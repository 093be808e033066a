"""One module for each kind of file; every reader takes `Findings` and adds what it found.

What a file says may be anything: a reader raises ValueError or RecursionError where it cannot be
read, and `infer` notes which file that was.
"""
