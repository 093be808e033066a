"""Connections carried from one network namespace into another: the only way between them."""

import contextlib
import ctypes
import os
import select
import socket
import threading

CLONE_NEWNET = 0x40000000
AT_ONCE = 32
CHUNK = 1 << 16
libc = ctypes.CDLL(None, use_errno=True)


def enter(namespace):
    """Take the calling thread, and no other, into a network namespace."""
    if namespace is not None and libc.setns(namespace, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def listen(namespace, address, number):
    """A listening socket that lies in `namespace` (None: the host's)."""
    made = []

    def make():
        try:
            enter(namespace)
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind((address, number))
            one.listen(64)
            made.append(one)
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


class Relay:
    """Takes what comes to `listener` to a port of the namespace that `target()` names then."""

    def __init__(self, listener, target, number):
        self._listener, self._target, self._number = listener, target, number
        self._free = threading.Semaphore(AT_ONCE)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self):
        while True:
            try:
                one, _ = self._listener.accept()
            except OSError:
                return
            if self._free.acquire(blocking=False):
                threading.Thread(target=self._carry, args=(one,), daemon=True).start()
            else:
                one.close()

    def _carry(self, one):
        two = None
        namespace = None
        try:
            namespace = self._target()
            if namespace is None:
                return
            enter(namespace)
            two = socket.create_connection(("127.0.0.1", self._number), timeout=10)
            two.settimeout(None)
            pump(one, two)
        except OSError:
            pass
        finally:
            if namespace is not None:
                os.close(namespace)
            one.close()
            if two is not None:
                two.close()
            self._free.release()


def pump(one, two):
    other = {one: two, two: one}
    open_ends = {one, two}
    while open_ends:
        ready, _, _ = select.select(list(open_ends), [], [], 300)
        if not ready:
            return
        for end in ready:
            data = end.recv(CHUNK)
            if data:
                other[end].sendall(data)
            else:
                open_ends.discard(end)
                other[end].shutdown(socket.SHUT_WR)
