"""A repository of this run: made, signed, served, and badly served on purpose."""

from __future__ import annotations

import secrets

from form import Package, index

from benchflow.bench.http_files import HttpFiles
from benchflow.boot.inspect import ed25519


class Repository(HttpFiles):
    """What the guests find at `url`, by the order's form, signed with a key of this run.

    `host`: where a guest finds this host's loopback.
    """

    def __init__(self, host: str) -> None:
        super().__init__(host, keep_alive=False)
        self.seed = secrets.token_bytes(32)
        self.serial = 1000 + secrets.randbelow(100000)
        self.packages: dict[str, tuple[Package, bytes]] = {}

    @property
    def key(self) -> str:
        return ed25519.public(self.seed).hex()

    def sign(self, data: bytes) -> bytes:
        return ed25519.sign(self.seed, data)

    def offer(self, *packages: Package) -> None:
        """Add packages, or newer versions of them, and publish."""
        for package in packages:
            self.packages[package.name] = (package, package.pack())
        self.publish()

    def only(self, *packages: Package) -> None:
        """Offer these and nothing else, and serve it all well again."""
        self.calm()
        self.packages.clear()
        self.offer(*packages)

    def withdraw(self, *names: str) -> None:
        for name in names:
            self.packages.pop(name, None)
        self.publish()

    def publish(self) -> None:
        """A new index of all packages, with a higher serial."""
        self.serial += 1 + secrets.randbelow(9)
        self.files.clear()
        for package, data in self.packages.values():
            self.put(package.file_name, data)
        self.put_index(index(self.packages.values(), self.serial))

    def put_index(self, data: bytes, signature: bytes | None = None) -> None:
        self.put("INDEX", data)
        self.put("INDEX.sig", self.sign(data) if signature is None else signature)

    def swap(self, package: Package, data: bytes) -> None:
        """Serve something else under a package's name; the index stays."""
        self.put(package.file_name, data)

    def fetched(self, suffix: str = ".pkg") -> list[str]:
        """The packages that were asked for since `asked` was last cleared, each once."""
        return sorted(set(super().fetched(suffix)))
