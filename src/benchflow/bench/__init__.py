"""What the checks of several tasks need, once; runs inside the verifier as `boot` does.

`docs/bench.md` says when to use which module. Python 3.11, `benchflow.boot` and the standard
library, nothing else.
"""
