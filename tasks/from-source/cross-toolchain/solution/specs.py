"""Writes the specs file of a GCC: what it does when nothing else is said, wherever it lies.

The file has to be complete: where there is one, GCC passes over what it would have set up by
itself, the shared form of its support library among it.
"""

import subprocess
import sys
from pathlib import Path

gcc = sys.argv[1]
place = subprocess.run([gcc, "-print-libgcc-file-name"], capture_output=True, text=True, check=True)
specs = Path(place.stdout.strip()).with_name("specs")
specs.unlink(missing_ok=True)
text = subprocess.run([gcc, "-dumpspecs"], capture_output=True, text=True, check=True).stdout


def change(name, how):
    global text
    head = f"*{name}:\n"
    start = text.index(head) + len(head)
    end = text.index("\n\n", start)
    text = text[:start] + how(text[start:end]) + text[end:]


def link(old):
    if "--no-dynamic-linker" not in old:
        # GCC 12 gives static programs that are position-independent a loader on RISC-V.
        assert "%{!static:" in old and "%{static:-static}" in old, old
        old = old.replace("%{!static:", "%{!static:%{!static-pie:", 1)
        at = old.index("%{static:-static}")
        close = old.rindex("}", 0, at) + 1
        old = (
            f"{old[:close]}}}{old[close:at]}"
            "%{static-pie:-static -pie --no-dynamic-linker -z text} "
            f"{old[at:]}"
        )
    # musl takes the stack of threads from the program's own header.
    return f"{old} %{{!r:-z relro -z now -z stack-size=1048576}}"


change("link", link)
# Atomics of one and two bytes are calls on this processor, whoever uses threads or not.
change("lib", lambda old: f"{old} %{{!pthread:--as-needed -latomic --no-as-needed}}")
specs.write_text(text)
