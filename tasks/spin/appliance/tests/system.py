"""What a unit's system is: Debian's, read-only, with logs that are kept and bounded."""

from __future__ import annotations

import secrets

from scripts import ATTEMPTS, FLOOD, OTHER_LICENCES, UNLISTED
from unit import Unit

LOG_KILOBYTES = 8 << 10  # [R22]
OWN_PROGRAMS = 20


def cannot_be_written(unit: Unit) -> None:
    """Nothing apart from the places that the demand names."""
    said = unit.say(ATTEMPTS.replace("WRITTEN", f".{secrets.token_hex(6)}"), seconds=300)
    assert said == "", f"{said[:600]}; [R7]: nothing apart from /data, /run, /tmp and /var"


def is_debian(unit: Unit) -> None:
    """Debian 12, whose process 1 is a systemd that starts what it is told."""
    name = f"question-{secrets.token_hex(6)}"
    unit.ssh(
        f"systemd-run --quiet --unit={name} sh -c 'cat /proc/self/cgroup >/run/{name}'", seconds=90
    )
    written = f"i=0; until [ -s /run/{name} ] || [ $i = 60 ]; do sleep 0.5; i=$((i+1)); done"
    group = unit.say(f"{written}; cat /run/{name}", seconds=90)
    assert f"{name}.service" in group, f"a unit ran in {group!r}, not under systemd [R4]"
    first = unit.say("cat /proc/1/comm")
    assert first == "systemd", f"process 1 is {first}; [R4]: systemd"
    version = unit.say("cat /etc/debian_version")
    assert version.startswith("12."), f"Debian's version is {version}; [R4]: 12"


def packages_are_listed(unit: Unit) -> None:
    """dpkg knows what is installed, and each has its licence."""
    # What was removed and not purged is not installed, and nobody's licence is asked for it.
    listed = unit.say("dpkg-query -W -f '${db:Status-Status} ${Package}\\n'").splitlines()
    packages = [row.split()[1] for row in listed if row.startswith("installed ")]
    absent = {"systemd", "base-files", "dpkg", "libc6"} - set(packages)
    assert not absent, f"dpkg-query does not list {absent}, which are there [R21]"
    files = " ".join(f"/usr/share/doc/{name}/copyright" for name in packages)
    missing = unit.say(f"LC_ALL=C grep -iLE 'copyright|licen[cs]e' {files} 2>&1; :", seconds=120)
    assert missing == "", f"no copyright files with a word of a licence: {missing[:300]} [R21]"
    other = unit.say(OTHER_LICENCES, seconds=120)
    assert other == "", f"copyright files that are not the packages': {other[:300]} [R21]"
    # A few programs of the maker's own are in no package; a system's are.
    unlisted = unit.say(UNLISTED, seconds=120).splitlines()
    assert len(unlisted) <= OWN_PROGRAMS, (
        f"{len(unlisted)} programs and libraries are of no listed package: {unlisted[:5]} [R21]"
    )


def logs_are_bounded(unit: Unit, word: str) -> None:
    """What is logged last is kept, and never more than the budget."""
    # systemd-cat leaves up to 8 MiB in its socket, which would push the word out again.
    unit.ssh(FLOOD, seconds=480)
    unit.ssh(f"echo {word} | systemd-cat -t question; sleep 3; journalctl --sync")
    text = unit.say("journalctl -t question -o cat; :", seconds=120)
    assert word in text, f"{word}, logged last, is not in the journal [R22]: {text[-500:]!r}"
    used = max(int(n) for n in unit.say("du -sk /var/log/ | cut -f 1; cat /run/peak").split())
    assert used <= LOG_KILOBYTES, f"/var/log took {used} KiB; [R22]: never more than 8 MiB"
