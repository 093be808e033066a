"""One TCP connection of a program in the guest, carried over the machine's port."""

from __future__ import annotations

import contextlib
import select
import socket

from benchflow.sandbox.vm.channel import Gone, Stream
from benchflow.sandbox.vm.frames import Kind

_READ = 64 * 1024


def carry(stream: Stream, other: socket.socket) -> None:
    """Both ways, until both sides have ended or one is gone. Closes the stream."""
    ours, theirs = b"", True  # what waits to be sent into the guest; whether the guest still speaks
    open_here = True
    try:
        while theirs or open_here or ours:
            if ours:
                ours = ours[stream.send(ours) :]
                if not ours and not open_here:
                    stream.end()
            readable: list[Stream | socket.socket] = [stream]
            if open_here and not ours:
                readable.append(other)
            ready = select.select(readable, [], [])[0]
            if other in ready:
                ours = other.recv(_READ)
                open_here = bool(ours)
                if not open_here:
                    stream.end()
            while (said := stream.next()) is not None:
                kind, data = said
                if kind is Kind.OUT:
                    other.sendall(data)
                elif kind is Kind.END:
                    theirs = False
                    other.shutdown(socket.SHUT_WR)
    except (OSError, Gone):
        with contextlib.suppress(OSError):
            stream.kill()
            stream.end()
    finally:
        stream.close()
