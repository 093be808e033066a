"""A kickstart file that no tool has seen, the packages it asks for, and what its image must be."""

from __future__ import annotations

import hashlib
import random
import secrets
from dataclasses import dataclass
from pathlib import Path

from bench import COMPOSE_SECONDS, PLACE, Bench
from hashes import hashed
from publisher import Publisher
from rootfs import RootFs
from rpms import Package, Rpm, read

_UNIT = """[Unit]
Description={name}

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/{name}

[Install]
WantedBy=multi-user.target
"""
_ZONES = {"Asia/Kathmandu": "+0545", "Pacific/Chatham": None, "America/St_Johns": None,
          "Asia/Tehran": "+0330", "Australia/Eucla": "+0845"}  # fmt: skip


@dataclass(frozen=True)
class Made:
    """What came of the file. `traces` are from before; there is an image if the tool says so."""

    status: int
    said: str
    seconds: float
    traces: str
    image: Path | None


def open_accounts(passwd: str, shadow: str, named: set[str]) -> str:
    """Accounts but the `named` ones with a password, or that need none, or with root's number."""
    rows = [line.split(":") for line in passwd.splitlines() if line]
    roots = [row[0] for row in rows if row[2:3] == ["0"]]
    if roots != ["root"]:
        return f"accounts with root's number: {roots}"
    found = {row[0] for row in rows if row[1] not in ("x", "*") and not row[1].startswith("!")}
    held = [line.split(":") for line in shadow.splitlines() if line]
    found |= {row[0] for row in held if row[1][:1] not in ("!", "*")} - named
    return f"accounts with a password that nobody gave them: {sorted(found)}" if found else ""


class Second:
    """All of it drawn for one run."""

    def __init__(self) -> None:
        draw = self.draw = random.Random(secrets.randbits(64))
        word = lambda stem: f"{stem}{secrets.token_hex(3)}"  # noqa: E731
        self.host, self.password = word("signal-"), secrets.token_urlsafe(9)
        self.root_hash = hashed(self.password)
        self.zone = draw.choice(sorted(_ZONES))
        self.lang = draw.choice(("sv_SE.UTF-8", "nb_NO.UTF-8", "fi_FI.UTF-8", "da_DK.UTF-8"))
        self.append = f"almar.{word('line')}={word('x')} {word('depot')}"
        self.user, self.other, self.group = word("ada"), word("bo"), word("crew")
        self.uid, self.gid = 4000 + draw.randrange(900), 5000 + draw.randrange(900)
        self.user_hash = hashed(secrets.token_hex(8))
        self.gecos = f'Ada {word("of ")} & "sons"'
        self.home = f"/srv/{word('homes')}"
        self.place, self.label = f"/srv/{word('data')}", word("d").upper()
        self.sizes = {"/": 700 + draw.randrange(40),
                      "/boot/efi": 40 + draw.randrange(12), self.place: 20 + draw.randrange(20),
                      "swap": 12 + draw.randrange(12)}  # fmt: skip
        self.order = list(self.sizes)
        draw.shuffle(self.order)
        self.words = {name: secrets.token_hex(12) for name in ("app", "sh", "python", "after")}
        app = self.app = word("app")
        self.names = {part: f"{app}-{part}" for part in ("lib", "weak", "one", "two", "idle")}
        self.feature = f"{app}-feature"

    # -- packages -----------------------------------------------------------------------------

    def packages(self) -> list[Rpm]:
        n, app = self.names, self.app
        share = lambda name, text: {f"/usr/share/{app}/{name}": text}  # noqa: E731
        keep = f'[ "$1" = show ] || echo {self.words["app"]} >/var/lib/{app}'
        program = f"#!/bin/sh\ncat /usr/share/{app}/lib\n{keep}\n"
        units, wants = "/usr/lib/systemd/system", "/etc/systemd/system/multi-user.target.wants"
        enable = f"mkdir -p {wants}; ln -sf {units}/{n['idle']}.service {wants}/\n"
        return [
            Rpm(app, "1", {f"/usr/bin/{app}": program,
                           f"/usr/lib/systemd/system/{app}.service": _UNIT.format(name=app)},
                requires=(f"{n['lib']} >= 2", self.feature, "systemd", "coreutils"),
                recommends=(n["weak"],)),
            Rpm(n["lib"], "1", share("lib", "old\n")),
            Rpm(n["lib"], "2", share("lib", f"lib {self.words['app']}\n")),
            Rpm(n["weak"], "1", share("weak", "weak\n")),
            Rpm(n["one"], "1", share("feature", "one\n"), provides=(self.feature,)),
            Rpm(n["two"], "1", share("feature", "two\n"), provides=(self.feature,)),
            Rpm(n["idle"], "1", {f"/usr/lib/systemd/system/{n['idle']}.service":
                                 _UNIT.format(name=app)}, requires=(app,),
                scripts={"post": enable}),
        ]  # fmt: skip

    @property
    def not_theirs(self) -> list[tuple[str, str]]:
        """Users and passwords with which nobody gets into the machine of the image."""
        word = self.password
        return [("root", ""), ("root", word[:-1]), (self.user, word), (self.other, "")]

    @property
    def excluded(self) -> str:
        return self.names["one"]

    @property
    def wanted(self) -> list[str]:
        return [self.app, self.names["lib"], self.names["two"], self.names["idle"], "tidelog"]

    @property
    def absent(self) -> list[str]:
        return [self.names["weak"], self.names["one"], "tidelog-phrases", "beacon", "almar-compose"]

    def by_nevra(self) -> dict[str, Package]:
        """The bench's packages as the verifier reads its own files."""
        read_back = [read(one.pack(None)) for one in self.packages()]
        return {one.nevra: one for one in read_back}

    # -- files --------------------------------------------------------------------------------

    def files(self, url: str) -> dict[str, str]:
        """The kickstart file `two.ks` and what it includes, by path."""
        parts = {
            "/": "part / --fstype=ext4 --label=almar-root",
            "/boot/efi": "part /boot/efi --fstype=vfat --label=BOOT",
            "swap": "part swap --fstype=swap",
            self.place: f"part {self.place} --fstype=ext4 --label={self.label}",
        }
        lines = "".join(f"{parts[place]} --size={self.sizes[place]}\n" for place in self.order)
        main = f"""# a machine of one run

  url --url='{url}'
lang {self.lang}
timezone "{self.zone}"
%include parts/disk.ks
network --hostname={self.host}
rootpw --iscrypted '{self.root_hash}'
bootloader --append="{self.append}"
services --disabled=systemd-networkd,{self.names["idle"]} --enabled={self.app}.service

%packages --excludeWeakdeps
almar-base
# what only this machine has
{self.names["idle"]}   # brings {self.app}
tidelog
-{self.excluded}
%end

%post
cat >/etc/{self.app}.note <<'END'
# {self.words["sh"]} $HOME "kept"

   %packages
END
{{
	cat /etc/hostname
	readlink /etc/localtime | sed 's/.*zoneinfo.//'
	id -u {self.user}
	/usr/bin/{self.app} show
	echo ${{0##*/}} | wc -l
}} >>/etc/{self.app}.note
mkdir -p {self.place}/from-post
%end
%post --interpreter=/usr/bin/python3
import hashlib, os
with open("/etc/{self.app}.note", "a") as note:
    print(hashlib.sha256(b"{self.words["python"]}").hexdigest(), os.getuid(), file=note)
%end
%post
echo once >>/etc/{self.app}.note
exit 7
%end
%post --erroronfail
echo {self.words["after"]} >>/etc/{self.app}.note
%end
"""
        disk = f"# partitions\n{lines}%include people.ks\n"
        people = (
            f"group --name={self.group} --gid={self.gid}\n"
            f"user --name={self.user} --uid={self.uid} --groups={self.group} "
            f"--homedir={self.home} --gecos='{self.gecos}' --shell=/bin/sh "
            f"--iscrypted --password='{self.user_hash}'\n"
            f"user --name={self.other}\n"
        )
        return {"two.ks": main, "parts/disk.ks": disk, "parts/people.ks": people}

    def made_on(self, bench: Bench, publisher: Publisher, work: Path) -> Made:
        """Have it made on a machine that has taken a package and has an older index therefore."""
        one = Rpm(f"{self.app}-before", "1")
        publisher.offer(one)
        publisher.publish()
        bench.online()
        bench.look_to(publisher)
        assert bench.dnf(f"install {one.name}") == 0, f"{one.name} was not installed: {bench.log()}"
        publisher.offer(*self.packages())
        publisher.publish()
        bench.make_room()
        traces = bench.traces()
        for path, text in self.files(publisher.url).items():
            bench.write(f"{PLACE}/ks/{path}", text)
        status, said, spent = bench.compose("two.ks", "two.img", COMPOSE_SECONDS)
        image = bench.fetch("two.img", work) if status == 0 else None
        return Made(status, said, spent, traces, image)

    def note(self) -> str:
        """What the scripts leave in /etc."""
        digest = hashlib.sha256(self.words["python"].encode()).hexdigest()
        return (
            f'# {self.words["sh"]} $HOME "kept"\n\n   %packages\n{self.host}\n{self.zone}\n'
            f"{self.uid}\nlib {self.words['app']}\n1\n{digest} 0\nonce\n{self.words['after']}\n"
        )

    def account_faults(self, passwd: str, shadow: str, group: str) -> str:
        """What is wrong with the accounts, "" when nothing is."""
        table = {
            name: {line.split(":")[0]: line.split(":") for line in text.splitlines() if line}
            for name, text in (("passwd", passwd), ("shadow", shadow), ("group", group))
        }
        for user, hashed_ in (("root", self.root_hash), (self.user, self.user_hash),
                              (self.other, "!")):  # fmt: skip
            held = table["shadow"].get(user, ["", "?"])[1]
            if held != hashed_ and not (hashed_ == "!" and held.startswith("!") and len(held) <= 2):
                return f"{user}: the password in /etc/shadow is {held[:40]!r}"
        if wrong := open_accounts(passwd, shadow, {"root", self.user}):
            return wrong
        line = table["passwd"].get(self.user, [])
        wanted = [str(self.uid), self.gecos, self.home, "/bin/sh"]
        if len(line) != 7 or [line[i] for i in (2, 4, 5, 6)] != wanted:
            return f"{self.user}: {line}"
        other = table["passwd"].get(self.other, [])
        if other[5:] != [f"/home/{self.other}", "/bin/bash"]:
            return f"{self.other}: {other}"
        crew = table["group"].get(self.group, ["", "", "", ""])
        if crew[2] != str(self.gid) or self.user not in crew[3].split(","):
            return f"{self.group}: {crew}"
        for name, row in ((self.user, line), (self.other, other)):
            if table["group"].get(name, ["", "", "?"])[2] != row[3]:
                return f"{name} has no group of its own"
        return ""

    def partition_faults(self, root: RootFs) -> str:
        """What is wrong with the disk as it lies, "" when nothing is."""
        sizes = [part.size for part in root.partitions]
        if sizes != [self.sizes[place] << 20 for place in self.order]:
            return f"partitions of {sizes} bytes"
        kinds = {"/boot/efi": "fat", "swap": "swap"}
        for part, place in zip(root.partitions, self.order, strict=True):
            kind = root.image.filesystem(part)
            if kind != kinds.get(place, "ext4") or part.table != "gpt":
                return f"{place} is {kind} in a table of the kind {part.table}"
        return ""

    def mount_faults(self, bench: Bench) -> str:
        """What is wrong with it in use, "" when nothing is."""
        said = sorted(bench.say("blkid -s LABEL -o value /dev/vda*").split())
        if said != sorted(["almar-root", "BOOT", self.label]):
            return f"labels: {said}"
        for number, place in enumerate(self.order, 1):
            device = f"/dev/vda{number}"
            if place == "swap":
                if f"{device} " not in bench.say("cat /proc/swaps"):
                    return "there is no swap"
                continue
            found = f"awk '$2 == \"{place}\" {{ print $1 }}' /proc/mounts | tail -n 1"
            source = bench.say(found)
            if source not in (device, "/dev/root") or bench.say(f"stat -c %m {place}") != place:
                return f"{place} is on {source!r}"
        return ""
