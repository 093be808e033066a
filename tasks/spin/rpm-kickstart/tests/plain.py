"""A kickstart file that leaves most to be understood, and what its image must be then."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path

from bench import COMPOSE_SECONDS, PLACE, Bench
from closure import reachable
from publisher import Publisher
from rootfs import RootFs
from rpms import Package
from second import Second, open_accounts

from benchflow.bench.lanes import Aside


def settled(work: Aside[object]) -> None:
    """Wait until it is over, whatever came of it."""
    with contextlib.suppress(Exception):
        work.result()


_MIRROR = f"{PLACE}/mirror"


class Plain:
    """No `lang`, `timezone`, `network`, `services` or `bootloader`; a repository of files, of the
    packages that `second` has, with what they recommend."""

    def __init__(self, second: Second) -> None:
        word = secrets.token_hex(3)
        self.second = second
        self.group, self.band, self.user = f"yard{word}", f"band{word}", f"eva{word}"
        self.size = 700 + secrets.randbelow(40)

    def text(self) -> str:
        return f"""url --url=file://{_MIRROR}
rootpw --lock
group --name={self.group}
group --name={self.band}
user --name={self.user} --groups={self.group},{self.band} --lock
part / --fstype=ext4 --size={self.size}
part /boot/efi --fstype=vfat --size=48
%packages
{self.second.app}
tidelog
almar-base
%end
"""

    def made_on(self, bench: Bench, publisher: Publisher, work: Path) -> RootFs:
        """The image. AssertionError where none is made."""
        bench.mirror(publisher, _MIRROR)
        bench.write(f"{PLACE}/ks/little.ks", self.text())
        status, said, spent = bench.compose("little.ks", "little.img", COMPOSE_SECONDS)
        good = status == 0 and spent <= COMPOSE_SECONDS
        image = bench.fetch("little.img", work) if good else None
        bench.say(f"rm -rf {PLACE}/out/little.img {_MIRROR}")
        assert image, (
            f"of a file that says little: status {status} after {spent:.0f} s [R19]: {said[-400:]}"
        )
        return RootFs(image, work)

    def package_faults(self, root: RootFs, packages: list[Package]) -> str:
        """[R22], with what is recommended."""
        second = self.second
        names = {one.name for one in root.packages()} - {"gpg-pubkey"}
        wanted = ["almar-base", "tidelog", second.app]
        missing = {*wanted, "tidelog-phrases", second.names["lib"], second.names["weak"]} - names
        if missing:
            return f"not installed: {sorted(missing)}"
        if not names & {second.names["one"], second.names["two"]}:
            return f"nothing installed has {second.feature}"
        more = names - reachable(wanted, packages, second.packages(), weak=True)
        return f"nobody asked for {sorted(more)[:8]}" if more else ""

    def account_faults(self, root: RootFs) -> str:
        """[R23], of locked accounts and groups whose numbers nobody gave."""
        passwd, shadow, group = (
            root.text(f"/etc/{name}") for name in ("passwd", "shadow", "group")
        )
        if wrong := open_accounts(passwd, shadow, set()):
            return wrong
        if not any(line.startswith(f"{self.user}:!") for line in shadow.splitlines()):
            return f"{self.user} is not locked, or not there"
        held = {line.split(":")[0]: line.split(":") for line in group.splitlines() if line}
        for name in (self.group, self.band):
            if self.user not in held.get(name, [""])[-1].split(","):
                return f"{self.user} is not in {name}"
        own = [line.split(":") for line in passwd.splitlines() if line.startswith(f"{self.user}:")]
        if own[0][5:] != [f"/home/{self.user}", "/bin/bash"]:
            return f"{self.user}: {own[0]}"
        if held.get(self.user, ["", "", ""])[2] != own[0][3]:
            return f"{self.user} has no group of its own"
        return ""

    def setting_faults(self, root: RootFs) -> str:
        """[R24], of what the file does not say."""
        name = root.text("/etc/hostname").strip()
        lines = root.text("/etc/locale.conf").splitlines()
        zone = (
            root.files.readlink("/etc/localtime")
            if root.files.exists("/etc/localtime", follow=False)
            else ""
        )
        if name != "almar":
            return f"the host name is {name!r}"
        if "LANG=C.UTF-8" not in lines:
            return f"/etc/locale.conf says {lines}"
        if not zone.endswith("zoneinfo/UTC"):
            return f"/etc/localtime leads to {zone!r}"
        sizes = [part.size >> 20 for part in root.partitions]
        return f"partitions of {sizes} MiB" if sizes != [self.size, 48] else ""
