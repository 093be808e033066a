"""Who has which rights on a system volume, compared as a whole with what was there before.

Each function gives what differs, one line a finding; nothing, when nobody has gained anything.
"""

import hashlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import doors
import known
import owner_data
import server as facts

from benchflow.boot.inspect.bounded_run import run_tool
from benchflow.boot.inspect.ext4 import Ext4
from benchflow.boot.inspect.filesystem import Entry

FOREVER = 30_000  # days since 1970: 2052
_LOCKED = re.compile(r"[!*]+")
_HER_RULE = re.compile(r"ingrid\s+ALL\s*=\s*\(ALL(\s*:\s*ALL)?\)\s*ALL")
_SSHD_MORE = re.compile(
    r"(?i)(HostKey /etc/ssh/ssh_host_\w+_key|UseDNS (yes|no)|Port 22|AddressFamily (any|inet)"
    r"|ListenAddress (0\.0\.0\.0|::)(:22)?|PermitRootLogin (no|prohibit-password|without-password)"
    r"|(PasswordAuthentication|PubkeyAuthentication|TCPKeepAlive) (yes|no)|StrictModes yes"
    r"|(PermitEmptyPasswords|HostbasedAuthentication|X11Forwarding|PermitUserEnvironment) no"
    r"|IgnoreRhosts yes|LogLevel \w+|SyslogFacility \w+|(MaxAuthTries|LoginGraceTime) \d+\w?"
    r"|Client\w+ \d+\w?)"
)
_KERNEL_WORDS = re.compile(
    r"ro|rw|quiet|rootwait|noresume|nomodeset|no_timer_check|no_console_suspend|keep_bootcon|[35]"
    r"|(BOOT_IMAGE|root|rootfstype|rootdelay|console|initrd|resume|loglevel|panic|consoleblank|net\.ifnames|biosdevname|fsck\.repair|vga|video"
    r"|random\.trust_cpu|random\.trust_bootloader|net\.naming-scheme|reboot|elevator)=\S*"
    r"|rootflags=[\w=,-]*|fsck\.mode=(auto|force)|(earlyprintk|earlycon)=\S*"
    r"|debug|ignore_loglevel|splash|nosplash|printk\.time=\S*|log_buf_len=\S*|ipv6\.disable=\S*"
    r"|systemd\.(show_status|log_color|log_location|log_time|unified_cgroup_hierarchy)=\S*"
    r"|systemd\.(log_level=(info|debug)|log_target=(auto|console|kmsg|journal|journal-or-kmsg))"
    r"|systemd\.unit=(multi-user|graphical)\.target|systemd\.journald\.forward_to_console(=\S*)?"
    r"|init=(/usr)?(/sbin/init|/lib/systemd/systemd)|(modules[-_]load|clocksource|tsc)=\S*"
    # Stricter than what was, or what was already.
    r"|mitigations=auto\S*|(apparmor|audit|init_on_alloc|init_on_free|page_alloc\.shuffle)=1"
    r"|slab_nomerge|vsyscall=none|security=apparmor"
)
_ACCOUNT_SOURCES = ("passwd", "group", "shadow", "gshadow", "sudoers", "initgroups")
_SECRET_BYTES = 1 << 20
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
        if 0 <= _day(expires) < FOREVER:
            wrong.append(f"{name}'s account ends on day {expires}")
        since, good = _day(changed), _day(longest)
        if since == 0 or (since > 0 <= good and since + good < FOREVER):
            wrong.append(f"{name}'s password ends: changed on day {changed}, good for {longest}")
    return wrong


def _day(field: str) -> int:
    """A number of /etc/shadow as strtol reads it; -1, which means never, where there is none."""
    return int(field) if re.fullmatch(r"\s*[+-]?\d+", field) else -1


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
    # pam_group adds to whoever logs in what stands here.
    given = lines(system.read_text("/etc/security/group.conf"))
    wrong += [f"/etc/security/group.conf: {line}" for line in given]
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
        told = (n for n in system.listdir("/etc/ssh/sshd_config.d") if n.endswith(".conf"))
        for name in told:
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
    """Set-user-id files, capabilities, what others may change or read, open doors."""
    names = {row[2]: row[0] for row in _rows(system, "/etc/group", 4)[0]}
    wrong = []
    named = {}
    open_to_all, closed = {}, set()
    for entry in system.walk("/"):
        if entry.path.startswith(known.HIDDEN):
            continue
        folder, _, name = entry.path.rpartition("/")
        if folder in closed or (entry.kind == "directory" and not entry.mode & 0o001):
            closed.add(entry.path)
        elif entry.kind == "file" and entry.mode & 0o004 and 0 < entry.size <= _SECRET_BYTES:
            open_to_all[entry.key] = entry.path
        if entry.kind == "symlink":
            if name == ".ssh" or "/.ssh/" in entry.path or name in _DOORS:
                wrong.append(f"was not there: {entry.path} -> {system.readlink(entry.path)}")
            continue
        if entry.kind in ("file", "directory"):
            named[entry.key] = entry.path
        wrong += _of_file(entry, names.get(str(entry.gid), str(entry.gid)))
    wrong += [f"everybody may read: {line}" for line in _secrets(system, disk, open_to_all)]
    return [*wrong, *_attributes(disk, named)]


def _secrets(system: Ext4, disk: Path, named: dict[int, str]) -> Iterator[str]:
    """Files with the passwords, the host key, or the owner's books and papers in them."""
    # The first line of the encoded key is every key's of this kind, the last one is padding.
    key = system.read("/etc/ssh/ssh_host_ed25519_key").splitlines()[2:-2]
    hashes = [facts.INGRID_HASH.encode(), facts.PIET_HASH.encode()]
    records = {record.encode() for record in owner_data.RECORDS}
    packaged = ("/usr/", "/boot/", "/var/lib/dpkg/")
    with tempfile.TemporaryDirectory() as folder:
        numbers = [
            inode
            for inode, path in named.items()
            if path.startswith("/usr/local/") or not path.startswith(packaged)
        ]
        script = "".join(f"dump <{inode}> {inode}\n" for inode in numbers)
        device = f"{disk}?offset={facts.SYSTEM_START}"
        run_tool(["debugfs", "-f", "-", device], stdin=script.encode(), cwd=Path(folder))
        for inode in numbers:
            file = Path(folder, str(inode))
            content = file.read_bytes() if file.is_file() else b""
            if any(text in content for text in hashes):
                yield f"{named[inode]} (passwords)"
            if any(line in content for line in key):
                yield f"{named[inode]} (the SSH host key)"
            paper = hashlib.sha256(content).hexdigest() in owner_data.CHECKSUMS.values()
            if paper or not records.isdisjoint(content.splitlines()):
                yield f"{named[inode]} (books or papers)"


def tops(disk: Path) -> list[str]:
    """Who may change what lies at the top of a volume: the walks above begin below it."""
    wrong = []
    for what, start, owners in (
        ("/", facts.SYSTEM_START, {0}),
        ("/srv/tally", facts.DATA_START, {0, 990}),
    ):
        said = run_tool(["debugfs", "-R", "stat <2>", f"{disk}?offset={start}"]).stdout.decode()
        mode = re.search(r"Mode:\s+(\d+)", said)
        owner = re.search(r"User:\s+(\d+)\s+Group:\s+(\d+)", said)
        if not mode or not owner:
            wrong.append(f"{what} cannot be read")
            continue
        bits, uid, gid = int(mode[1], 8), int(owner[1]), int(owner[2])
        if uid not in owners or bits & 0o002 or (bits & 0o020 and gid not in owners):
            wrong.append(f"others than before may change: {what} ({bits:o}, owner {uid}:{gid})")
    return wrong


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
    shared = f"{path}/".startswith((*known.SHARED, *known.GROUP_WRITES))
    others = entry.uid not in owners and not f"{path}/".startswith(known.SHARED)
    if others or (mode & 0o020 and entry.gid not in owners and not shared):
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


def kernel_words(text: str) -> list[str]:
    """What the kernel was told beside where its root and its console are."""
    return [word for word in text.split() if not _KERNEL_WORDS.fullmatch(word)]


def gained(disk: Path) -> list[str]:
    """All that the disk gives away and did not before."""
    system, data = Ext4(disk, facts.SYSTEM_START), Ext4(disk, facts.DATA_START)
    kinds = (accounts, groups, passwords, pam, sudo, ssh, doors.units)
    wrong = [finding for kind in kinds for finding in kind(system)] + files(system, disk)
    if data.exists("/.ssh", follow=False):  # /srv/tally is the home of the ledger's user
        wrong.append("/srv/tally/.ssh was not there")
    return wrong + tops(disk)
