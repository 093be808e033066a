"""What runs in the verifier's containers: a busybox of the bench, and scripts for its shell."""

from __future__ import annotations

import secrets

from benchflow.bench.oci_writer import Layer, LayerFile

#: Where programs in containers listen: below the ports that a kernel lends, and no port of `host`.
PORT = 10_000 + secrets.randbelow(20_000)
#: What the image `quits` wants to be asked to end with.
ASKED = secrets.choice(("QUIT", "USR1", "USR2"))
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
#: Counts its starts on a volume, where there is one, and serves. `$@` is done before that. It says
#: which process it is: a host may have given the container a first process of its own. With `STAY`
#: it does not end when it is asked to, and tells the time until it is killed.
SERVE = b"""#!/bin/sh
echo $$ >/tmp/main
last() {
    echo "$1" >>/keep/ends
    while [ -n "$STAY" ]; do
        read -r up rest </proc/uptime
        echo "$up" >>/keep/last
        sleep 0.2
    done
    sync
    exit 0
}
for name in TERM ASKED; do
    trap "last $name" $name
done
if [ -d /keep ]; then
    read -r up rest </proc/uptime
    echo "$up" >>/keep/starts
    sync
fi
[ $# = 0 ] || eval "$1"
httpd -f -p PORT -h /www &
wait
""".replace(b"PORT", b"%d" % PORT).replace(b"ASKED", ASKED.encode())


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
        ("open", LayerFile(mode=0o777, folder=True)),
    ]
    return Layer.of(files)
