"""Real registries on loopback, and what makes them fail."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextlib.contextmanager
def registry(folder: Path, *, htpasswd: Path | None = None) -> Iterator[str]:
    """HOST:PORT of Debian's docker-registry over `folder`."""
    port = free_port()
    config = folder.parent / f"registry-{port}.yml"
    auth = f"auth: {{htpasswd: {{realm: here, path: {htpasswd}}}}}\n" if htpasswd else ""
    config.write_text(
        f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {folder}}}}}"
        f'\n{auth}http: {{addr: "127.0.0.1:{port}", relativeurls: true}}\n'
    )
    # It takes REGISTRY_… for settings of its own, REGISTRY_AUTH_FILE among them.
    env = {key: value for key, value in os.environ.items() if not key.startswith("REGISTRY_")}
    log = config.with_suffix(".log")
    with log.open("wb") as file:
        process = subprocess.Popen(
            ["docker-registry", "serve", str(config)], stdout=file, stderr=file, env=env
        )
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def htpasswd(path: Path, user: str, password: str) -> Path:
    """A file of one user, hashed as docker-registry wants it, by the C library's crypt."""
    program = r'print crypt($ARGV[0], "\$2y\$05\$abcdefghijklmnopqrstuu")'
    done = subprocess.run(
        ["perl", "-e", program, password], capture_output=True, text=True, check=True
    )
    path.write_text(f"{user}:{done.stdout}\n")
    return path


@contextlib.contextmanager
def proxy(target: str, *, most_bytes: int = 1 << 40, no_upload: bool = False) -> Iterator[str]:
    """HOST:PORT of what passes bytes to `target`: it closes every connection once clients have
    sent `most_bytes`, or answers each upload with 413, as a server with a limit does."""
    host, _, port = target.partition(":")
    server = socket.create_server(("127.0.0.1", 0))
    sent = 0

    def pass_on(source: socket.socket, sink: socket.socket, *, counted: bool) -> None:
        nonlocal sent
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if counted and no_upload and data.startswith((b"PATCH ", b"PUT ")):
                    source.sendall(
                        b"HTTP/1.1 413 Request Entity Too Large\r\nContent-Length: 0\r\n"
                        b"Connection: close\r\n\r\n"
                    )
                    break
                sent += len(data) if counted else 0
                if sent > most_bytes:
                    break
                sink.sendall(data)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def serve(client: socket.socket) -> None:
        with client, socket.create_connection((host, int(port))) as there:
            back = threading.Thread(target=pass_on, args=(there, client), kwargs={"counted": False})
            back.start()
            pass_on(client, there, counted=True)
            back.join()

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = server.accept()
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.getsockname()[1]}"
    finally:
        server.close()


@contextlib.contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """`folder` with room for so much; needs root."""
    folder.mkdir()
    size = f"size={kilobytes}k"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def files_below(folder: Path) -> list[str]:
    return sorted(
        os.path.relpath(Path(top, name), folder)
        for top, _, names in os.walk(folder)
        for name in names
    )
