"""What runs in the verifier's containers: a busybox of the bench, and scripts for its shell."""

from __future__ import annotations

from benchflow.bench.oci_writer import Layer, LayerFile

PORT = 8080
TOOLS = (
    "sh", "httpd", "head", "cat", "ls", "id", "sleep", "dd", "nc", "wc", "stat", "sync", "mount",
    "chroot", "mknod", "readlink", "touch", "mkdir", "rm", "tr", "grep", "kill", "hostname", "env",
    "cut", "seq", "sed", "mv", "yes", "ip", "timeout", "unshare", "nsenter", "date", "find",
    "sha256sum", "printf", "wget", "ln", "chmod", "sort", "df", "chown", "swapoff", "dmesg", "tee",
)  # fmt: skip
#: Runs what is posted to it, in a shell of the container's own.
ASK = b"""#!/bin/sh
printf 'Content-Type: text/plain\\r\\n\\r\\n'
script=$(head -c "$CONTENT_LENGTH")
eval "$script" 2>&1
"""
#: Counts its starts on a volume, where there is one, and serves. `$@` is done before that.
SERVE = b"""#!/bin/sh
trap 'echo TERM >>/keep/ends; sync; exit 0' TERM
trap 'echo QUIT >>/keep/ends; sync; exit 0' QUIT
if [ -d /keep ]; then
    read -r up rest </proc/uptime
    echo "$up" >>/keep/starts
    sync
fi
[ $# = 0 ] || eval "$1"
httpd -f -p 8080 -h /www &
wait
"""


def base(busybox: bytes, word: str) -> Layer:
    """The layer under all: busybox under the names of its tools, and the scripts."""
    folder = LayerFile(mode=0o755, folder=True)
    files = [(name, folder) for name in ("bin", "etc", "www", "www/cgi-bin", "tmp", "proc", "dev")]
    files += [("bin/busybox", LayerFile(busybox, 0o755))]
    files += [(f"bin/{name}", LayerFile(link="busybox")) for name in TOOLS]
    files += [
        ("www/cgi-bin/ask", LayerFile(ASK, 0o755)),
        ("serve", LayerFile(SERVE, 0o755)),
        ("etc/passwd", LayerFile(b"root:x:0:0::/:/bin/sh\nclerk:x:1234:2345::/:/bin/sh\n")),
        ("etc/group", LayerFile(b"root:x:0:\nstaff:x:2345:\nwheel:x:3456:\n")),
        ("word", LayerFile(word.encode())),
    ]
    return Layer.of(files)
