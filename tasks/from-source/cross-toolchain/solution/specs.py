"""Writes the specs file of a GCC: what it does when nothing else is said, wherever it lies."""

import subprocess
import sys
from pathlib import Path

gcc = sys.argv[1]
place = subprocess.run([gcc, "-print-libgcc-file-name"], capture_output=True, text=True, check=True)
specs = Path(place.stdout.strip()).with_name("specs")
specs.unlink(missing_ok=True)

dumped = subprocess.run([gcc, "-dumpspecs"], capture_output=True, text=True, check=True).stdout
parts = {}
for part in dumped.split("\n\n"):
    name, _, text = part.strip().partition(":\n")
    parts[name.removeprefix("*")] = text

link = parts["link"]
if "static-pie" not in link:
    # GCC 12 gives static programs that are position-independent a loader on RISC-V.
    assert "%{!static:" in link, link
    link = link.replace("%{!static:", "%{!static:%{!static-pie:", 1)
    at = link.index("%{static:-static}")
    close = link.rindex("}", 0, at)
    link = (
        f"{link[: close + 1]}}} %{{static:-static}} "
        "%{static-pie:-static -pie --no-dynamic-linker -z text}"
        f"{link[at + len('%{static:-static}') :]}"
    )
# musl takes the stack of threads from the program's own header.
link += " %{!r:-z relro -z now -z stack-size=1048576}"
# Atomics of one and two bytes are calls on this processor, whoever uses threads or not.
lib = parts["lib"] + " %{!pthread:--as-needed -latomic --no-as-needed}"

specs.write_text(f"*link:\n{link}\n\n*lib:\n{lib}\n")
print(specs.read_text())
