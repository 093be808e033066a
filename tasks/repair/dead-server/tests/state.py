"""How a start of the server has turned out: asked by one script, read into plain values."""

import re

import known
import ports
import rights
import server as facts

# Root's, and at most of the groups that nobody is in: root, disk, kmem, cdrom, floppy.
_DISK = re.compile(r"[0-7]?[0-7][0-7]0 0 (0|6|15|24|25) \S+")
_UNITS = " ".join(facts.SERVICES + facts.ONCE_A_START)
SCRIPT = f"""\
{facts.PATH}
echo "running=$(systemctl is-system-running)"
echo "failed=$(systemctl --failed --plain --no-legend | cut -d ' ' -f 1 | head -5 | tr '\\n' ' ')"
echo "hostname=$(uname -n)"
echo "machine=$(cat /etc/machine-id)"
echo "boot=$(cat /proc/sys/kernel/random/boot_id)"
echo "kernel=$(cat /proc/cmdline)"
echo "root=$(findmnt -n -o UUID,FSTYPE,OPTIONS / | tail -n 1)"
echo "data=$(findmnt -n -o UUID,FSTYPE,OPTIONS /srv/tally | tail -n 1)"
echo "swap=$(cut -d ' ' -f 1 /proc/swaps | tr '\\n' ' ')"
echo "swapdevice=$(readlink -f /dev/disk/by-uuid/{facts.SWAP_UUID})"
echo "dbus=$(cat /var/lib/dbus/machine-id)"
echo "speed=$(stty -F /dev/ttyS0 speed)"
echo "log=$(systemctl log-level) $(systemctl log-target)"
# What systemd says before its journal runs comes there from the kernel, without its process id.
echo "cycles=$(journalctl -b -o cat SYSLOG_IDENTIFIER=systemd | grep -ci 'ordering cycle')"
echo "opened=$(journalctl -b -u tallyd -o short-monotonic | grep -m 1 'tallyd: serving')"
echo "counted=$(cat /run/ledger-check)"
ss -H -lntu | while read -r kind _ _ _ local _; do echo "socket=$kind $local"; done
ps -e -o tty= -o user= -o comm= -o args= | while read -r tty user name said; do
    case $tty,$name in
    *getty*) echo "terminal=$tty $user $name $said" ;;
    '?,'* | ttyS0,* | pts/*) ;;
    *) echo "terminal=$tty $user $name $said" ;;
    esac
done
find /dev '(' -type b -o -name mem -o -name port -o -name 'sg[0-9]*' ')' \\
    -printf '%m %U %G %p\\n' | while read -r row; do echo "device=$row"; done
findmnt -rn -t ext2,ext3,ext4,tmpfs,devtmpfs,ramfs,overlay,xfs,btrfs,vfat,squashfs,iso9660 \\
    -o TARGET,OPTIONS | while read -r name options; do
    case ",$options," in *,nosuid,*) ;; *) echo "mount=$name" ;; esac
done
for name in {" ".join(known.GUARDS)}; do echo "guard=$name $(cat /proc/sys/$name)"; done
echo "firewall=$(nft -j list ruleset)"
for unit in {_UNITS}; do
    echo "unit=$unit $(systemctl show $unit -p ActiveState -p Type -p Result -p NRestarts \\
        -p InactiveExitTimestampMonotonic -p ExecMainStartTimestampMonotonic \\
        -p ExecMainExitTimestampMonotonic -p ExecMainPID | tr '\\n' ' ')"
done
"""


class State:
    """What `SCRIPT` printed. Compared by `same`: what no two starts may differ in."""

    def __init__(self, text):
        rows = [line.split("=", 1) for line in text.splitlines() if "=" in line]
        self._said = dict(rows)
        self._lists = rows
        self.units = {}
        for row in self._all("unit"):
            name, *fields = row.split()
            self.units[name] = dict(field.split("=", 1) for field in fields if "=" in field)

    def __getitem__(self, name):
        return self._said.get(name, "").strip()

    def _all(self, name):
        return [value for key, value in self._lists if key == name]

    def mount(self, place):
        """UUID, type and options of what is mounted there."""
        uuid, kind, options = [*self[place].split(), "", "", ""][:3]
        return uuid, kind, set(options.split(","))

    @property
    def swap_used(self):
        return bool(self["swapdevice"]) and self["swapdevice"] in self["swap"].split()

    @property
    def ran(self):
        """The units that run, or ran to a good end where that is all there is to do."""
        return {name for name, unit in self.units.items() if _ran(unit)}

    @property
    def read_first(self):
        """Whether `ledger-check` had ended before `tallyd` opened the books for the first time."""
        ended = int(self.units["ledger-check"].get("ExecMainExitTimestampMonotonic") or 0)
        return 0 < ended <= self.opened

    @property
    def opened(self):
        """When tallyd said for the first time that it serves, microseconds after the start."""
        if match := re.match(r"\[ *(\d+)\.(\d{6})\]", self["opened"]):
            return int(match[1] + match[2])
        return int(self.units["tallyd"].get("ExecMainStartTimestampMonotonic") or 0)

    @property
    def sockets(self):
        """What listens for others than the machine itself, as `tcp 22`."""
        found = set()
        for row in self._all("socket"):
            kind, _, address = row.partition(" ")
            host, _, port = address.strip().rpartition(":")
            if not host.startswith(("127.", "[::1]", "[::ffff:127.")):
                found.add(f"{kind} {port}")
        return found

    @property
    def terminals(self):
        """Who sits at a terminal other than the console, or need only press a key there."""
        return [row for row in self._all("terminal") if not _asks(row)]

    @property
    def firewall_gaps(self):
        """What the firewall lets in beside SSH, the ledger and DHCP's answers."""
        return ports.gaps(self["firewall"], facts.OPEN)

    @property
    def held_up(self):
        """How long the bench kept `ledger-check` from its work, in microseconds."""
        unit = self.units["ledger-check"]
        times = ("InactiveExitTimestampMonotonic", "ExecMainStartTimestampMonotonic")
        began, worked = (int(unit.get(name) or 0) for name in times)
        return worked - began

    @property
    def open_places(self):
        """Disks that everybody may read, and places beside the root where set-user-id works."""
        return [row for row in self._all("device") if not _DISK.fullmatch(row)] + [
            name for name in self._all("mount") if name != "/"
        ]

    @property
    def unguarded(self):
        """What the kernel guards less well than it did."""
        found = dict(row.split(maxsplit=1) for row in self._all("guard") if " " in row)
        return [
            f"{name} is {found.get(name)}"
            for name, was in known.GUARDS.items()
            if found.get(name) not in was
        ]

    @property
    def odd_kernel_words(self):
        return rights.kernel_words(self["kernel"])

    def same(self):
        """What R12 wants to be as before."""
        data, root = self.mount("data"), self.mount("root")
        return {
            "the state of the system": self["running"],
            "the name": self["hostname"],
            "the machine id": self["machine"],
            "the data volume": (data[0], data[1], sorted({"rw", "nodev", "nosuid"} & data[2])),
            "the system volume": (root[0], "rw" in root[2]),
            "the swap space in use": self.swap_used,
            "what runs": sorted(self.ran),
            "the ledger read first": self.read_first,
            "no job dropped": self["cycles"] == "0",
            "what listens": sorted(self.sockets - facts.CLIENTS),
            "what the firewall lets in": self.firewall_gaps,
            "what the kernel guards": self.unguarded,
            "the terminals": self.terminals,
            "open places": self.open_places,
            "odd words to the kernel": self.odd_kernel_words,
        }

    def differs(self, before):
        """What has changed since an earlier start, for a message."""
        then, now = before.same(), self.same()
        return [
            f"{what}: {now[what]!r}, was {then[what]!r}" for what in now if now[what] != then[what]
        ]


def _asks(row):
    """Whether what sits at a terminal asks for a name and a password first."""
    _, _, name, *said = row.split()
    options = " ".join(["", *said[1:]])
    if name == "login":
        return not re.search(r" -\w*f", options)
    return name in ("agetty", "(agetty)") and not re.search(
        r" (-[A-Za-z0-9]*[anl]|--(auto|skip|login-prog))", options.replace(" -o -p -- \\u", "")
    )


def _ran(unit):
    if unit.get("ActiveState") == "active":
        return True
    done = int(unit.get("ExecMainExitTimestampMonotonic") or 0) > 0
    return unit.get("Type") == "oneshot" and unit.get("Result") == "success" and done
