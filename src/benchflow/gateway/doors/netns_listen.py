"""Opens a listening socket inside a sandbox's network namespace and hands it out.

Run as a program: `python -I -S netns_listen.py PID PORT FD`. It enters the user and the network
namespace of PID, listens on 127.0.0.1:PORT there and sends the socket over FD, a packet socket. So
the sandbox reaches the gateway at its own loopback with nothing of ours inside it: no process that
could be killed, no mount, and no way to the host's loopback. A failure is sent as text.
"""

# Started once a sandbox: it imports little, and knows nothing of benchflow.
from __future__ import annotations

import array
import os
import socket
import sys


def main() -> int:
    pid, port, channel = sys.argv[1], int(sys.argv[2]), socket.socket(fileno=int(sys.argv[3]))
    try:
        spaces = [
            (f"/proc/{pid}/ns/user", os.CLONE_NEWUSER),
            (f"/proc/{pid}/ns/net", os.CLONE_NEWNET),
        ]
        opened = [(os.open(path, os.O_RDONLY | os.O_CLOEXEC), kind) for path, kind in spaces]
        for descriptor, kind in opened:
            os.setns(descriptor, kind)
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except OSError as error:
        channel.send(f"{type(error).__name__}: {error}".encode())
        return 1
    rights = array.array("i", [listener.fileno()])
    channel.sendmsg([b"ok"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
