"""Who has which rights on a system volume, compared as a whole with what was there before.

Each function gives what differs, one line a finding; nothing, when nobody has gained anything.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import known
import server as facts

from benchflow.boot.inspect.bounded_run import run_tool
from benchflow.boot.inspect.ext4 import Ext4
from benchflow.boot.inspect.filesystem import Entry

FOREVER = 30_000  # days since 1970: 2052
_LOCKED = re.compile(r"[!*]+")
_HER_RULE = re.compile(r"ingrid\s+ALL\s*=\s*\(ALL(\s*:\s*ALL)?\)\s*ALL")
_SSHD_MORE = re.compile(r"(?i)(HostKey /etc/ssh/ssh_host_\w+_key|PermitRootLogin no|UseDNS no)")
_KERNEL_WORDS = re.compile(
    r"ro|rw|quiet|rootwait|noresume|nomodeset|no_timer_check"
    r"|(BOOT_IMAGE|root|rootfstype|rootdelay|console|initrd|resume|loglevel|panic|consoleblank|net\.ifnames|biosdevname|fsck\.repair|vga|video"
    r"|random\.trust_cpu|random\.trust_bootloader)=\S*"
    r"|rootflags=[\w=,-]*|fsck\.mode=(auto|force)|earlyprintk=\S*|systemd\.show_status=\S*"
    r"|debug|ignore_loglevel|splash|nosplash|printk\.time=\S*|log_buf_len=\S*|ipv6\.disable=\S*"
    r"|systemd\.log_(color|location|time)=\S*|clocksource=\S*|tsc=\S*"
)
# Who lets people in, by what they log in with; and where people get when the start fails.
_DOOR_UNITS = re.compile(
    r"/(sshd?|dbus|systemd-logind|console-getty|debug-shell|emergency|rescue|systemd-sulogin-shell"
    r"|(getty|serial-getty|container-getty|user|ssh)@[^/]*)\.(service|socket)(\.d/[^/]+)?$"
)
_SERVICE_LINE = re.compile(r"(Exec|Environment|User|Group|PAM|Root|Bind|StandardInput|TTY|Listen)")
_ACCOUNT_SOURCES = ("passwd", "group", "shadow", "gshadow", "sudoers", "initgroups")
_DOORS = {".rhosts", ".shosts", "hosts.equiv", "shosts.equiv", "sshrc", "ld.so.preload"}


def lines(text: str) -> list[str]:
    """The lines of a configuration file as their readers see them: no comments, single spaces."""
    bare = (" ".join(line.split("#", 1)[0].split()) for line in text.splitlines())
    return [line for line in bare if line]


def _compare(what: str, found: dict[str, str], wanted: dict[str, str]) -> Iterator[str]:
    for name in sorted({*found, *wanted}):
        if found.get(name) != wanted.get(name):
            yield f"{what} {name}: is {found.get(name)!r}, was {wanted.get(name)!r}"


def _rows(system: Ext4, path: str, fields: int) -> tuple[list[list[str]], list[str]]:
    rows = [line.split(":") for line in system.read_text(path).splitlines() if line]
    wrong = [f"{path}: strange line {row!r}" for row in rows if len(row) != fields]
    names = [row[0] for row in rows]
    wrong += [f"{path}: {name} stands there twice" for name in {*names} if names.count(name) > 1]
    return [row for row in rows if len(row) == fields], wrong


def _drawn(found: str, wanted: str) -> str:
    """A number, or `*` where only its range is known and it is in that."""
    return "*" if wanted == "*" and re.fullmatch(r"[1-9]\d\d", found) else found


def accounts(system: Ext4) -> list[str]:
    """/etc/passwd, as the C library reads it."""
    wanted = {row[0]: row[1:] for row in map(str.split, known.ACCOUNTS.splitlines())}
    rows, wrong = _rows(system, "/etc/passwd", 7)
    found = {}
    for name, password, uid, gid, _, home, shell in rows:
        was = wanted.get(name, ["", "", "", ""])
        found[name] = " ".join([_drawn(uid, was[0]), _drawn(gid, was[1]), home, shell])
        if password != "x":
            wrong.append(f"account {name}: its password is not asked of /etc/shadow")
    uids = [row[2] for row in rows]
    wrong += [f"user id {uid} is there twice" for uid in {*uids} if uids.count(uid) > 1]
    return [*wrong, *_compare("account", found, {n: " ".join(w) for n, w in wanted.items()})]


def groups(system: Ext4) -> list[str]:
    """/etc/group and the passwords in /etc/gshadow."""
    wanted = {row[0]: row[1:] for row in map(str.split, known.GROUPS.splitlines())}
    rows, wrong = _rows(system, "/etc/group", 4)
    found = {}
    for name, password, gid, members in rows:
        people = ",".join(sorted(filter(None, members.split(",")))) or "-"
        found[name] = f"{_drawn(gid, wanted.get(name, [''])[0])} {people}"
        if password not in ("x", "*", "!"):
            wrong.append(f"group {name}: it has a password")
    if system.exists("/etc/gshadow"):
        for name, password, admins, _ in _rows(system, "/etc/gshadow", 4)[0]:
            if admins or not _LOCKED.fullmatch(password):
                wrong.append(f"group {name}: a password or administrators in /etc/gshadow")
    return [*wrong, *_compare("group", found, {n: " ".join(w) for n, w in wanted.items()})]


def passwords(system: Ext4) -> list[str]:
    """/etc/shadow: the two hashes, open for good; everybody else locked."""
    rows, wrong = _rows(system, "/etc/shadow", 9)
    own = {"ingrid": facts.INGRID_HASH, "piet": facts.PIET_HASH}
    wrong += [f"{name} is not in /etc/shadow" for name in own if name not in [r[0] for r in rows]]
    for name, stored, changed, _, longest, _, _, expires, _ in rows:
        if name not in own:
            if not _LOCKED.fullmatch(stored):
                wrong.append(f"{name} has a password: {stored[:12]!r}")
            continue
        if stored != own[name]:
            wrong.append(f"{name}'s hash is {stored[:24]!r}…, not the one that was set")
        if expires.isdigit() and int(expires) < FOREVER:
            wrong.append(f"{name}'s account ends on day {expires}")
        if changed == "0" or (longest.isdigit() and int(changed or 0) + int(longest) < FOREVER):
            wrong.append(f"{name}'s password ends: changed on day {changed}, good for {longest}")
    return wrong


def pam(system: Ext4) -> list[str]:
    """What PAM reads for every service, and in which order the C library looks for accounts."""
    found = {
        name: "\n".join(lines(system.read_text(f"/etc/pam.d/{name}")))
        for name in system.listdir("/etc/pam.d")
    }
    wanted = {name: text.strip() for name, text in known.PAM.items()}
    wrong = [*_compare("PAM service", found, wanted)]
    if system.exists("/etc/pam.conf"):
        wrong += [f"/etc/pam.conf: {line}" for line in lines(system.read_text("/etc/pam.conf"))]
    for line in lines(system.read_text("/etc/nsswitch.conf")):
        what, _, sources = line.partition(":")
        known_order = sources.split() in (["files"], ["files", "systemd"])
        if what in _ACCOUNT_SOURCES and not known_order:
            wrong.append(f"/etc/nsswitch.conf: {line}")
    return wrong


def sudo(system: Ext4) -> list[str]:
    """The rules of sudo; one that gives Ingrid what her group gives her adds nothing."""
    texts = {"/etc/sudoers": system.read_text("/etc/sudoers")}
    for name in system.listdir("/etc/sudoers.d"):
        texts[f"/etc/sudoers.d/{name}"] = system.read_text(f"/etc/sudoers.d/{name}")
    if system.exists("/etc/sudo.conf"):
        texts["/etc/sudo.conf"] = system.read_text("/etc/sudo.conf")
    rules = [(path, rule) for path, text in texts.items() for rule in _rules(text)]
    were = lines(known.SUDOERS)
    wrong = [f"{path}: {rule}" for path, rule in rules if rule not in were]
    wrong = [line for line in wrong if not _HER_RULE.fullmatch(line.partition(": ")[2])]
    said = {rule for _, rule in rules}
    lost = [rule for rule in were if rule.startswith("Defaults") and rule not in said]
    return wrong + [f"/etc/sudoers: {rule} is gone" for rule in lost]


def _rules(text: str) -> list[str]:
    # "#include" and "#1000" are no comments to sudo.
    kept = re.sub(r"(?m)^#(?=include|\d)", "@", text)
    return [rule for rule in lines(kept) if rule != "@includedir /etc/sudoers.d"]


def ssh(system: Ext4) -> list[str]:
    """What sshd is told, and keys that open an account without its password."""
    texts = [("/etc/ssh/sshd_config", system.read_text("/etc/ssh/sshd_config"))]
    if system.exists("/etc/ssh/sshd_config.d"):
        for name in system.listdir("/etc/ssh/sshd_config.d"):
            path = f"/etc/ssh/sshd_config.d/{name}"
            texts.append((path, system.read_text(path)))
    said = [(path, line) for path, text in texts for line in lines(text)]
    wrong = [
        f"{path}: {line}"
        for path, line in said
        if line not in lines(known.SSHD) and not _SSHD_MORE.fullmatch(line)
    ]
    if system.exists("/etc/default/ssh"):
        told = lines(system.read_text("/etc/default/ssh"))
        wrong += [f"/etc/default/ssh: {line}" for line in told if line != "SSHD_OPTS="]
    key = system.stat("/etc/ssh/ssh_host_ed25519_key")
    if key.uid or key.mode & 0o077:
        wrong.append(f"the SSH host key can be read by others: owner {key.uid}, {key.mode:o}")
    return wrong


def files(system: Ext4, disk: Path) -> list[str]:
    """Set-user-id files, capabilities, what others than root may change, open doors."""
    names = {row[2]: row[0] for row in _rows(system, "/etc/group", 4)[0]}
    wrong = []
    named = {}
    for entry in system.walk("/"):
        if entry.kind == "symlink":
            continue
        if entry.kind in ("file", "directory"):
            named[entry.key] = entry.path
        wrong += _of_file(entry, names.get(str(entry.gid), str(entry.gid)))
    return [*wrong, *_attributes(disk, named)]


def _of_file(entry: Entry, group: str) -> Iterator[str]:
    path, mode = entry.path, entry.mode
    name = path.rsplit("/", 1)[1]
    described = f"{path} ({mode:o}, owner {entry.uid}, group {group})"
    was = known.SET_ID.get(path)
    if entry.kind == "file" and mode & 0o6000 and was != (mode, entry.uid, group):
        yield f"runs with the rights of another: {described}"
    if mode & 0o002 and not f"{path}/".startswith(known.SHARED):
        yield f"everybody may write: {described}"
    if entry.kind == "device" and not path.startswith("/dev/"):
        yield f"a device: {described}"
    owners = {0, *(uid for top, uid in known.OWNERS.items() if f"{path}/".startswith(top))}
    shared = f"{path}/".startswith((*known.SHARED, *known.OWNERS, *known.GROUP_WRITES))
    others = entry.uid not in owners and not f"{path}/".startswith(known.SHARED)
    if others or (mode & 0o020 and entry.gid and not shared):
        yield f"others than root may change: {described}"
    read_by_others = mode & 0o007 or (mode & 0o070 and group not in ("root", "shadow"))
    if re.match(r"/etc/g?shadow", path) and read_by_others:
        yield f"passwords can be read by others: {described}"
    if entry.kind == "file" and entry.size and ("/.ssh/" in path or name in _DOORS):
        yield f"was not there: {described}"


def _attributes(disk: Path, named: dict[int, str]) -> Iterator[str]:
    """Capabilities and access lists. systemd gives its journals some."""
    script = "".join(f"ea_list <{inode}>\n" for inode in named)
    device = f"{disk}?offset={facts.SYSTEM_START}"
    done = run_tool(["debugfs", "-f", "-", device], stdin=script.encode())
    inode = 0
    for line in done.stdout.decode(errors="replace").splitlines():
        if asked := re.match(r"debugfs: ea_list <(\d+)>", line):
            inode = int(asked[1])
        elif found := re.match(r"\s+(security\.capability|system\.posix_acl_\w+)", line):
            path = named.get(inode, "?")
            if found[1] == "security.capability" or not path.startswith("/var/log/journal"):
                yield f"{found[1]} on {path}"


def units(system: Ext4) -> list[str]:
    """Units that let people in and do more, or other things, than their packages say.

    When such a unit starts is nobody's right; what it runs is.
    """
    wrong = []
    for top in ("/etc/systemd/system", "/usr/local/lib/systemd/system"):
        if not system.exists(top):
            continue
        for entry in system.walk(top):
            if not _DOOR_UNITS.search(entry.path[len(top) :]):
                continue
            if entry.kind == "symlink":
                target = system.readlink(entry.path)
                if not re.fullmatch(r"(/usr)?/lib/systemd/system/[^/]+", target):
                    wrong.append(f"{entry.path} -> {target}")
            elif entry.kind == "file":
                told = lines(system.read_text(entry.path))
                wrong += [f"{entry.path}: {line}" for line in told if _SERVICE_LINE.match(line)]
    return wrong


def kernel_words(text: str) -> list[str]:
    """What the kernel was told beside where its root and its console are."""
    return [word for word in text.split() if not _KERNEL_WORDS.fullmatch(word)]


def gained(disk: Path) -> list[str]:
    """All that the disk gives away and did not before."""
    system, data = Ext4(disk, facts.SYSTEM_START), Ext4(disk, facts.DATA_START)
    kinds = (accounts, groups, passwords, pam, sudo, ssh, units)
    wrong = [finding for kind in kinds for finding in kind(system)] + files(system, disk)
    if data.exists("/.ssh"):  # /srv/tally is the home of the ledger's user
        wrong.append("/srv/tally/.ssh was not there")
    return wrong
