"""The questions that an appliance image has to answer, in nine boots of four units.

Unit A (virtio, a disk larger than the image) is asked nearly everything; it is restarted once with
a full /data and once after a power cut. Unit B is the other model, and loses power in the middle of
its first boot. Unit C is A's disk with the factory-reset word in its boot entry; it loses power in
the middle of the reset. Unit D is C's disk with another word.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
import secrets
import shlex
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from powers import (
    accounts,
    console_is_shut,
    no_other_roots,
    no_passwords,
    only_one_key,
    pam_is_debians,
)
from scripts import ATTEMPTS, BURST, FLOOD, LEFTOVERS, TELLS, TOOLS, listener
from unit import SERVICE, Unit, digest, holds
from wire import ALL_PORTS, Neighbour, cable

from benchflow.boot import Disk, GuestError, Image, Nic, check, milestone

HERE = Path(__file__).parent
DELIVERED = "/app/out/appliance.img"
#: Disks differ: a number of sectors that no two runs share.
DISK_BYTES = (1800 << 20) + 512 * secrets.randbelow(1 << 20)
STORED_MB = 192
BUILD_ID = "SK-48213-7f41c0d9"
IDENTITY = "cat /etc/machine-id"
UNIT_IPV4 = "10.0.2.15"
RESET_SECONDS = 240.0  # [R31]


@dataclass
class Story:
    """What earlier boots left for later checks."""

    records: dict[str, str] = field(default_factory=dict)
    log_word: str = ""
    machine_id: str = ""
    host_keys: dict[str, str] = field(default_factory=dict)
    private: list[bytes] = field(default_factory=list)
    device_key: bytes = b""
    data_start: int = 0
    owners_file: str = ""
    closed_ports: list[int] = field(default_factory=list)
    disk_of_a: Path | None = None


@pytest.fixture(scope="session")
def story() -> Story:
    return Story()


@pytest.fixture(scope="session")
def unit(machines, deliverable, work, story) -> Unit:
    """Unit A, model 300, with a neighbour of ours on its cable."""
    disk = work / "a.img"
    subprocess.run(["cp", "--sparse=always", str(deliverable()), str(disk)], check=True)
    with disk.open("r+b") as file:
        file.truncate(DISK_BYTES)
    story.closed_ports = [secrets.randbelow(900) + 100, secrets.randbelow(50000) + 10000]
    folder = work / "A"
    folder.mkdir()
    machine = machines.create(
        "model-300",
        disks=[Disk(disk)],
        extra_args=cable(folder, [22, SERVICE, *story.closed_ports]),
        vga=False,
    )
    return Unit(machine, HERE / "customer_key", folder)


@pytest.fixture(scope="session")
def neighbour(unit, work) -> Iterator[Neighbour]:
    found = Neighbour(work / "A")
    yield found
    found.close()


def esp_of(image: Image):
    found = [p for p in image.partitions() if p.type.upper().startswith("C12A7328")]
    assert len(found) == 1, f"{len(found)} EFI system partitions; [R1]: exactly one"
    return found[0], image.fat(found[0])


def entry_of(image: Image) -> tuple[str, str]:
    _, esp = esp_of(image)
    entries = [n for n in esp.listdir("/loader/entries") if n.lower().endswith(".conf")]
    assert len(entries) == 1, f"{len(entries)} boot entries, {entries}; [R1]: exactly one"
    path = f"/loader/entries/{entries[0]}"
    return path, esp.read_text(path)


def field_of(entry: str, key: str) -> list[str]:
    rows = (line.split(None, 1) for line in entry.splitlines())
    return [row[1].strip() if len(row) > 1 else "" for row in rows if row[:1] == [key]]


# ---- image ------------------------------------------------------------------------------------


@milestone("image", weight=1, proves=["R1"], title="A UEFI disk image")
def test_disk_has_gpt_esp_and_loader(image):
    disk = image()
    assert {p.table for p in disk.partitions()} == {"gpt"}, "[R1]: it has a GPT"
    _, esp = esp_of(disk)
    # The one place where firmware looks that has never seen the disk (UEFI 2.10, 3.5.1.1).
    assert esp.read("/EFI/BOOT/BOOTX64.EFI")[:2] == b"MZ", "/EFI/BOOT/BOOTX64.EFI is no program"


@check("image", proves=["R1", "R31"])
def test_one_boot_entry_with_one_options_line(image):
    _, entry = entry_of(image())
    _, esp = esp_of(image())
    lines = len(field_of(entry, "options"))
    assert lines == 1, f"{lines} options lines in the boot entry; [R1]: one"
    kernels = field_of(entry, "linux") + field_of(entry, "efi")
    assert len(kernels) == 1, f"the boot entry names {len(kernels)} kernels [R1]"
    for path in kernels + field_of(entry, "initrd"):
        found = esp.exists(path) and esp.stat(path)
        assert found and found.kind == "file" and found.size > 0, (
            f"{path} of the boot entry is not on the EFI system partition [R1]"
        )


@check("image", proves=["R2"])
def test_image_is_within_its_size(deliverable, metric):
    status = deliverable().stat()
    stored = status.st_blocks * 512 / (1 << 20)
    metric("stored_mb", round(stored, 1))
    assert status.st_size <= 512 << 20, f"{status.st_size} bytes; [R2]: at most 512 MiB"
    assert stored <= STORED_MB, f"{stored:.1f} MiB are stored; [R2]: at most {STORED_MB}"


# ---- boots ------------------------------------------------------------------------------------


@milestone("boots", weight=2, proves=["R3", "R5"], title="Boots unattended")
def test_boots_to_a_log_in_with_the_customers_key(unit):
    unit.power_on()
    assert unit.say("id -u") == "0"


@check("boots", proves=["R4"])
def test_is_debian_with_systemd(unit):
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


@check("boots", proves=["R4"])
def test_everything_started(unit):
    unit.is_running()


# ---- ssh --------------------------------------------------------------------------------------


@milestone("ssh", weight=2, requires=["boots"], proves=["R5"], title="Keys only")
def test_only_keys_are_offered_to_anybody(unit):
    people = ["root", f"{secrets.token_hex(4)}x", *(row[0] for row in accounts(unit))]
    for user in dict.fromkeys(people):
        offered = unit.offered_methods(user)
        assert offered == ["publickey"], f"{user} is offered {offered}; [R5]: a public key alone"


@check("ssh", proves=["R5"])
def test_no_other_key_opens(unit, work):
    key = work / "stranger"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    assert not unit.key_opens(key), "a key that nobody knows lets root in [R5]"
    pub = subprocess.run(
        ["ssh-keygen", "-y", "-f", str(unit.key)], check=True, capture_output=True, text=True
    )
    only_one_key(unit, pub.stdout)


@check("ssh", proves=["R6"])
def test_no_account_has_a_password(unit):
    no_passwords(unit)
    pam_is_debians(unit)
    console_is_shut(unit)


@check("ssh", proves=["R6"])
def test_nobody_else_has_roots_powers(unit):
    no_other_roots(unit)


# ---- readonly ---------------------------------------------------------------------------------


def cannot_be_written(unit: Unit) -> None:
    said = unit.say(ATTEMPTS, seconds=300)
    assert said == "", f"{said[:600]}; [R7]: nothing apart from /data, /run, /tmp and /var"


@milestone("readonly", weight=2, requires=["boots"], proves=["R7"], title="A read-only system")
def test_the_system_cannot_be_written(unit):
    cannot_be_written(unit)


@check("readonly", proves=["R7"])
def test_not_even_after_a_remount(unit):
    unit.ssh("mount -o remount,rw / ; mount -o remount,rw /usr; mount -o remount,rw /etc; :")
    cannot_be_written(unit)


@check("readonly", proves=["R8"])
def test_scratch_places_can_be_written(unit):
    unit.ssh("for d in /tmp /var/tmp /run; do echo x >$d/scratch || exit 1; done")


# ---- data -------------------------------------------------------------------------------------


@milestone(
    "data", weight=1, requires=["boots"], proves=["R9"], title="/data on the rest of the disk"
)
def test_data_is_the_last_partition(unit, story):
    device = unit.say("awk '$2 == \"/data\" && $4 ~ /^rw/ {print $1}' /proc/mounts").split()
    assert len(device) == 1, f"/data is mounted from {device}; [R9]: a partition of its own"
    name = unit.say(f"basename $(readlink -f {shlex.quote(device[0])})")
    starts = (
        f"cd /sys/class/block/{name} && test -e partition && cat start && cat ../*/start | sort -n"
    )
    start, *all_of_them = unit.say(starts).split()
    assert all_of_them[-1:] == [start], f"/data begins at {start}, others at {all_of_them} [R9]"
    story.data_start = int(start) * 512
    word, story.owners_file = secrets.token_hex(16), f"owner-{secrets.token_hex(8)}"
    unit.ssh(
        f"echo {word} >/data/{story.owners_file} && sync && "
        f"test $(cat /data/{story.owners_file}) = {word}"
    )
    story.private.append(word.encode())


@check("data", proves=["R10"])
def test_data_takes_what_the_disk_has(unit, deliverable):
    kilobytes = int(unit.say("df -P /data | awk 'END {print $2}'"))
    free = DISK_BYTES - deliverable().stat().st_size
    assert kilobytes * 1024 > 0.9 * free, f"/data has {kilobytes >> 10} of {free >> 20} MiB [R10]"


# ---- service ----------------------------------------------------------------------------------


def service_pid(unit: Unit) -> int:
    return int(unit.say(listener(SERVICE)).split()[0])


@milestone("service", weight=2, requires=["boots"], proves=["R11"], title="The logbook service")
def test_service_signs_with_the_key_on_data(unit, story, nonce):
    key = story.device_key = unit.device_key()
    assert len(key) == 32, (
        f"/data/skerry/device.key has {len(key)} bytes, not the service's 32 [R11]"
    )
    assert unit.signature_is(key, nonce()), "it signs with another key than that on /data [R11]"


@check("service", proves=["R11"])
def test_service_keeps_records(unit, story, nonce):
    records = {f"first.{i}": nonce() for i in range(5)}
    for key, value in records.items():
        assert unit.ask(f"PUT {key} {value}")[0].startswith("OK ")
    assert unit.ask(*[f"GET {key}" for key in records]) == [f"VALUE {v}" for v in records.values()]
    for value in records.values():
        unit.ssh(f"grep -q {value} /data/skerry/logbook")
    story.records.update(records)


@check("service", proves=["R3"])
def test_service_answered_in_time(unit, metric):
    assert unit.service_in_time(), "no answer within 90 s of the first power-on [R3]"
    metric("boot_seconds", round(unit.service_seconds, 1))


@check("service", proves=["R11"])
def test_service_is_built_from_the_source(unit):
    pid = service_pid(unit)
    where = unit.say(f"readlink /proc/{pid}/exe")
    assert where == "/usr/bin/skerryd", f"port {SERVICE} is {where}'s; [R11]: /usr/bin/skerryd"
    program = bytes.fromhex(unit.say("od -An -v -tx1 /usr/bin/skerryd | tr -d ' \\n'"))
    assert program[:4] == b"\x7fELF"
    for text in (b"skerryd: request %.*s", b"device-id", b"will not run as root"):
        assert text in program, f"the program lacks the source's {text!r} [R11]"


@check("service", proves=["R12"])
def test_service_has_no_privileges(unit):
    pid = service_pid(unit)
    status = unit.say(f"cat /proc/{pid}/status")
    values = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    users = {int(word) for word in values["Uid"].split()}
    # Below 100 are the accounts of Debian's base, for others' use.
    assert len(users) == 1 and 100 <= min(users) != 65534, f"it runs as {users}; [R12]: its own"
    alike = f"grep -lE '^Uid:.*[[:space:]]{users.pop()}([[:space:]]|$)' /proc/[0-9]*/status; :"
    others = {path.split("/")[2] for path in unit.say(alike).split()} - {str(pid)}
    assert not others, f"its user runs {others} as well; [R12]: a user of its own"
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(values[kind], 16) == 0, f"{kind} is {values[kind].strip()}; [R12]: none"
    gains = values["NoNewPrivs"].strip()
    assert gains == "1", f"no_new_privs is {gains}; [R12]: no means to gain privileges"


# ---- firewall ---------------------------------------------------------------------------------


def listen(unit: Unit, kind: str, port: int, program: str, more: str = "") -> None:
    """Let systemd listen on a port, as anybody on the unit might; wait until the kernel says so."""
    name = f"{secrets.token_hex(4)}-{port}"
    accept = "Accept=yes" if kind == "tcp" else ""
    socket = f"[Socket]\nListen{'Stream' if kind == 'tcp' else 'Datagram'}={port}\n{accept}\n"
    service = f"[Service]\nExecStart={program}\nStandardInput=socket\n{more}\n"
    folder, template = "/run/systemd/system", "@" if kind == "tcp" else ""
    unit.ssh(
        f"mkdir -p {folder}; printf {shlex.quote(socket)} >{folder}/{name}.socket; "
        f"printf {shlex.quote(service)} >{folder}/{name}{template}.service; "
        f"systemctl daemon-reload && systemctl start {name}.socket && "
        f"cat /proc/net/{kind} /proc/net/{kind}6 2>/dev/null | grep -q ':{port:04X} '",
        seconds=120,
    )


def addresses(unit: Unit) -> list[str]:
    """The unit's own, of both families; from the cable those are asked that a neighbour reaches."""
    rows = [row.split() for row in unit.say("cat /proc/net/if_inet6 2>/dev/null; :").splitlines()]
    found = [str(ipaddress.IPv6Address(bytes.fromhex(row[0]))) for row in rows if row[5:] != ["lo"]]
    return [UNIT_IPV4, *(address for address in found if address.startswith("fe80:"))]


@milestone("firewall", weight=2, requires=["boots"], proves=["R13"], title="Two open ports")
def test_nothing_else_can_be_reached(unit, story, neighbour, nonce):
    for port in story.closed_ports:
        listen(unit, "tcp", port, "/bin/cat")
        assert not unit.hears(port, nonce()), f"TCP port {port} can be reached from outside [R13]"
    for address in addresses(unit):
        taken = neighbour.answers(unit.machine, address, story.closed_ports)
        assert not any(taken.values()), f"TCP ports of {address} can be reached: {taken} [R13]"


@check("firewall", proves=["R13"])
def test_no_datagram_comes_in(unit, neighbour, nonce):
    port, heard = secrets.randbelow(50000) + 10000, f"/run/heard-{nonce()[:8]}"
    listen(unit, "udp", port, "/bin/cat", f"StandardOutput=append:{heard}")
    for address in addresses(unit):
        word = nonce()
        neighbour.says(unit.machine, address, port, word)
        said = unit.say(f"sleep 1; cat {heard} 2>/dev/null; :")
        assert word not in said, f"UDP port {port} of {address} can be reached [R13]"


@check("firewall", proves=["R13"])
def test_no_single_port_was_left_open(unit, neighbour):
    """All ports of both families: one that answers otherwise than the most is a door."""
    reached = neighbour.answers(unit.machine, UNIT_IPV4, [22, SERVICE])
    assert all(reached.get(port) for port in (22, SERVICE)), f"a neighbour reaches {reached} [R13]"
    for address in addresses(unit):
        found = neighbour.answers(unit.machine, address, ALL_PORTS)
        for port in (22, SERVICE):  # these may be open by either family, whoever listens there
            found.pop(port, None)
        doors = [port for port, taken in found.items() if taken]
        assert not doors, f"{address} takes connections on {doors[:5]} [R13]"
        refused = list(found)
        for port in refused[:3] if len(refused) < 1000 else ():  # more: a wall that says no
            listen(unit, "tcp", port, "/bin/cat")
            taken = neighbour.answers(unit.machine, address, [port])
            assert not taken.get(port), f"port {port} of {address} is let in [R13]"


@check("firewall", proves=["R13"])
def test_both_open_ports_stay_open(unit, nonce):
    unit.answers(20)
    assert unit.ssh("true").status == 0


# ---- supervision ------------------------------------------------------------------------------

BACK_SECONDS, HUNG_SECONDS = 10, 60  # [R14], [R15]
DEATHS = ["KILL", "SEGV", "ABRT", "TERM", "INT", "HUP"]


@milestone("supervision", weight=1, requires=["service"], proves=["R14"], title="Crash and hang")
def test_service_comes_back_however_often_it_dies(unit, nonce):
    for signal in secrets.SystemRandom().sample(DEATHS, len(DEATHS)):
        pid = service_pid(unit)
        unit.ssh(f"kill -{signal} {pid}; while kill -0 {pid} 2>/dev/null; do sleep 0.1; done")
        unit.answers(BACK_SECONDS)
    unit.ssh(BURST.format(pid=service_pid(unit)), seconds=240)
    unit.answers(BACK_SECONDS)
    assert unit.signature_is(unit.device_key(), nonce())


@check("supervision", proves=["R15"])
def test_a_hung_service_is_replaced(unit):
    pid = service_pid(unit)
    told = unit.say(TELLS.format(pid=pid))
    assert told == "2", "the service has nobody to tell that it is alive [R15]"
    unit.ssh(f"kill -STOP {pid}")
    unit.answers(HUNG_SECONDS)
    assert service_pid(unit) != pid, "the same process answers again: it was not replaced [R15]"


# ---- brand ------------------------------------------------------------------------------------


@milestone("brand", weight=1, requires=["boots"], proves=["R16"], title="The customer's name")
def test_os_release(unit):
    lines = dict(
        line.split("=", 1) for line in unit.say("cat /etc/os-release").splitlines() if "=" in line
    )
    wanted = {
        "NAME": "Skerry Logbook",
        "PRETTY_NAME": "Skerry Logbook 2.3",
        "ID": "skerry-logbook",
        "ID_LIKE": "debian",
        "VERSION_ID": "2.3",
        "BUILD_ID": BUILD_ID,
        "SUPPORT_URL": "https://support.skerry.example/logbook",
    }
    found = {key: lines.get(key, "").strip().strip("\"'") for key in wanted}
    assert found == wanted, f"os-release says {found} [R16]"


@check("brand", proves=["R17"])
def test_hostname_follows_from_the_machine_id(unit):
    wanted = "logbook-" + unit.say(IDENTITY)[:6]
    assert re.fullmatch(r"logbook-[0-9a-f]{6}", wanted)
    assert unit.say("uname -n") == wanted
    # systemd and the kernel may write on, behind the prompt; what stands before the name is free.
    prompt = unit.machine.console.search(re.compile(rf"{wanted}[^\n]*login:"), 0)
    prompts = re.findall(r".*login:.*", unit.machine.console.tail(20000))
    assert prompt, f"no log-in prompt shows {wanted} on the console, but {prompts[:3]} [R17]"


@check("brand", proves=["R18"])
def test_greetings(unit):
    # The order asks for three things on one line; how they are joined is the maker's choice.
    line = rf"(?m)^(?=.*Skerry Logbook)(?=.*(?<![\d.])2\.3(?!\.?\d)).*{BUILD_ID}"
    above = re.compile(line + r"[^\0]{0,3000}?login:")
    assert unit.machine.console.search(above, 0), "not above the console's log-in prompt [R18]"
    text = unit.login_text()
    assert re.search(line, text), f"not after a log-in over SSH [R18]: {text[-500:]!r}"


# ---- lean -------------------------------------------------------------------------------------


@milestone("lean", weight=1, requires=["boots"], proves=["R19"], title="Nothing left over")
def test_no_tools_to_build_or_fetch_with(unit):
    said = unit.say(TOOLS, seconds=120)
    assert said == "", f"{said[:500]} [R19]"


@check("lean", proves=["R20"])
def test_no_caches_sources_or_manuals(unit):
    said = unit.say(LEFTOVERS, seconds=240)
    assert said == "", f"{said[:500]} [R20]"


@check("lean", proves=["R21"])
def test_packages_can_be_listed_and_keep_their_licences(unit):
    # What was removed and not purged is not installed, and nobody's licence is asked for it.
    listed = unit.say("dpkg-query -W -f '${db:Status-Status} ${Package}\\n'").splitlines()
    packages = [row.split()[1] for row in listed if row.startswith("installed ")]
    absent = {"systemd", "base-files", "dpkg", "libc6"} - set(packages)
    assert not absent, f"dpkg-query does not list {absent}, which are there [R21]"
    files = " ".join(f"/usr/share/doc/{name}/copyright" for name in packages)
    missing = unit.say(f"LC_ALL=C grep -iLE 'copyright|licen[cs]e' {files} 2>&1; :", seconds=120)
    assert missing == "", f"no copyright files with a word of a licence: {missing[:300]} [R21]"


# ---- logs -------------------------------------------------------------------------------------


LOG_KILOBYTES = 8 << 10  # [R22]


@milestone("logs", weight=2, requires=["boots"], proves=["R22"], title="Logs kept and bounded")
def test_logs_stay_within_their_budget(unit, story):
    story.log_word = f"word-{secrets.token_hex(8)}"
    # systemd-cat leaves up to 8 MiB in its socket, which would push the word out again.
    unit.ssh(FLOOD, seconds=480)
    unit.ssh(f"echo {story.log_word} | systemd-cat -t question; sleep 3; journalctl --sync")
    text = unit.say("journalctl -t question -o cat; :", seconds=120)
    assert story.log_word in text, (
        f"{story.log_word}, logged last, is not in the journal [R22]: {text[-500:]!r}"
    )
    used = max(int(n) for n in unit.say("du -sk /var/log/ | cut -f 1; cat /run/peak").split())
    assert used <= LOG_KILOBYTES, f"/var/log took {used} KiB; [R22]: never more than 8 MiB"


@check("logs", proves=["R23"])
def test_previous_boots_log_can_be_read(unit, story):
    second_boot(unit, story)
    text = unit.say("journalctl -b -1 -t question -o cat 2>&1; :", seconds=120)
    assert story.log_word in text, f"the previous start's log lacks its last word [R23]: {text!r}"


def second_boot(unit: Unit, story: Story) -> None:
    """The restart of unit A with a full /data; the first caller pays for it."""
    if story.machine_id:
        return
    story.host_keys = unit.host_keys()
    story.private += private_marks(unit)
    story.machine_id = unit.say(IDENTITY)
    unit.ssh(
        "fallocate -l 4G /data/filler; dd if=/dev/zero of=/data/filler2 bs=4k; sync; :", seconds=200
    )
    unit.reboot()


def private_marks(unit: Unit) -> list[bytes]:
    """Lines of the unit's private keys for SSH, where they are kept as text."""
    keys = "grep -rls 'PRIVATE KEY-' /data /etc /run /var 2>/dev/null | head -n 6"
    text = unit.say(f"for f in $({keys}); do sed -n 3,4p $f; done; :", seconds=120)
    return [line.encode() for line in text.splitlines() if len(line) > 32]


def is_itself(unit: Unit, story: Story) -> None:
    """[R24]: machine-id, host keys and device key are those of the first start."""
    now = unit.say(IDENTITY)
    assert now == story.machine_id, f"the machine-id was {story.machine_id} and is {now} [R24]"
    keys = unit.host_keys()
    changed = [kind for kind, key in keys.items() if story.host_keys.get(kind, key) != key]
    assert not changed, f"its host keys are others than before: {changed} [R24]"
    assert keys.keys() & story.host_keys.keys(), "it has none of the host keys of before [R24]"
    if story.device_key:
        assert unit.device_key() == story.device_key, "it has another device key [R24]"


# ---- identity ---------------------------------------------------------------------------------


@milestone("identity", weight=2, requires=["boots"], proves=["R24"], title="Stays who it is")
def test_identity_survives_a_restart(unit, story):
    second_boot(unit, story)
    assert re.fullmatch("[0-9a-f]{32}", story.machine_id), f"machine-id {story.machine_id!r} [R24]"
    is_itself(unit, story)
    assert unit.service_in_time(), "no answer within 90 s of a restart with a full /data [R25]"


@check("identity", proves=["R4", "R25"])
def test_full_disk_does_no_harm(unit, story, nonce):
    keys = list(story.records)
    said = unit.ask(*[f"GET {k}" for k in keys])
    assert said == [f"VALUE {v}" for v in story.records.values()], "reading fails [R25]"
    assert unit.signature_is(story.device_key, nonce()), "no signature with a full /data [R25]"
    unit.is_running()
    unit.ssh("rm /data/filler*; sync")
    key, value = f"later.{secrets.token_hex(4)}", nonce()
    unit.until(lambda: taken(unit, key, value), 30, "record that is taken, with room again [R25]")
    story.records[key] = value


def taken(unit: Unit, key: str, value: str) -> bool | None:
    """True when a record was acknowledged: a service that is starting again has time."""
    try:
        return unit.ask(f"PUT {key} {value}")[0].startswith("OK ") or None
    except GuestError:
        return None


# ---- power-cut --------------------------------------------------------------------------------


@milestone(
    "power-cut", weight=3, requires=["service"], proves=["R26"], title="Survives a power cut"
)
def test_acknowledged_records_survive(unit, story, metric):
    second_boot(unit, story)
    unit.ssh("rm -f /data/filler*; sync")
    kept = unit.put_many("cut", 4.0, least=5)
    unit.power_cut()
    assert len(kept) >= 5, f"{len(kept)} records were acknowledged"
    metric("records_before_cut", len(kept))
    story.records.update(kept)
    unit.power_on()
    assert unit.service_in_time(), "no answer within 90 s of a power cut [R27]"
    got = unit.ask(*[f"GET {key}" for key in story.records], seconds=60)
    lost = sum(a != f"VALUE {b}" for a, b in zip(got, story.records.values(), strict=True))
    assert not lost, f"{lost} of {len(got)} acknowledged records are lost [R26]"


@check("power-cut", proves=["R4", "R24", "R27"])
def test_unit_is_whole_again(unit, story):
    unit.is_running()
    is_itself(unit, story)


@check("power-cut", proves=["R28"])
def test_all_but_data_is_as_delivered(unit, story, image):
    after = Image(disk_of_a(unit, story))
    unchanged(image(), after, story)
    last = max(after.partitions(), key=lambda p: p.start)
    assert last.start == story.data_start, "another partition than /data's is the last one [R9]"
    end = last.start + last.size
    assert end > 0.98 * DISK_BYTES, f"/data ends at {end} of {DISK_BYTES} bytes [R10]"


def disk_of_a(unit: Unit, story: Story) -> Path:
    """A's disk, switched off without warning, after all that happened to it."""
    if story.disk_of_a is None:
        unit.power_cut()
        story.disk_of_a = unit.machine.flatten()
    return story.disk_of_a


def unchanged(before: Image, after: Image, story: Story) -> None:
    """[R28], for all partitions of `before` but /data, which a unit may have made itself."""
    assert story.data_start, "it is not known which partition /data is [R9]"
    for part in before.partitions():
        if part.start == story.data_start:
            continue
        now = after.partition(part.number)
        assert (now.start, now.size) == (part.start, part.size), f"{part.number} moved [R28]"
        same = digest(after.path, now.start, now.size) == digest(before.path, part.start, part.size)
        assert same, f"partition {part.number} is not what was delivered [R28]"


# ---- two machines -----------------------------------------------------------------------------


@pytest.fixture(scope="session")
def other(machines, deliverable, work) -> Unit:
    """Unit B, model 100."""
    machine = machines.create(
        "model-100",
        disks=[Disk(deliverable(), bus="nvme", serial="B100")],
        nics=[Nic(model="e1000e", forwards=[22, SERVICE])],
        vga=False,
    )
    return Unit(machine, HERE / "customer_key", work / "B")


def part_of_a_start(unit: Unit, part: float) -> float:
    """So much of the time that A's last start took, in seconds of this host's clock."""
    return part * (unit.service_seconds or 60.0)


@milestone(
    "two-machines",
    weight=2,
    requires=["boots"],
    proves=["R29", "R30"],
    title="The other model, and a first boot that was cut short",
)
def test_other_model_boots_after_a_cut_first_boot(other, unit):
    other.machine.boot()
    time.sleep(part_of_a_start(unit, 0.4 + 0.04 * secrets.randbelow(10)))
    other.power_cut()
    other.power_on()
    assert other.service_in_time(), "no answer within 90 s after a first start cut short [R30]"
    other.is_running()


@check("two-machines", proves=["R29"])
def test_service_works_on_the_other_model(other, nonce):
    key, value = nonce(), nonce()
    assert other.ask(f"PUT {key} {value}", f"GET {key}")[1] == f"VALUE {value}"
    assert other.signature_is(other.device_key(), nonce())


@check("two-machines", proves=["R24"])
def test_no_two_units_share_an_identity(other, unit, story):
    mine = story.machine_id or unit.say(IDENTITY)
    assert other.say(IDENTITY) not in ("", mine), "two units have one machine-id [R24]"
    before = story.host_keys or unit.host_keys()
    shared = set(other.host_keys().values()) & set(before.values())
    assert not shared, f"two units share {len(shared)} of their host keys [R24]"
    assert other.device_key() != (story.device_key or unit.device_key()), "one device key [R24]"


@check("two-machines", proves=["R28"])
def test_the_other_models_disk_is_as_delivered(other, story, image):
    other.power_cut()
    unchanged(image(), Image(other.machine.flatten()), story)


# ---- factory reset ----------------------------------------------------------------------------


def with_word(disk: Path, work: Path) -> Path:
    """Set a reset word of this run's in the options of a disk's boot entry, and nothing else."""
    path, entry = entry_of(Image(disk))
    part, _ = esp_of(Image(disk))
    word = f"appliance.factory-reset={secrets.token_hex(4)}"
    bare = re.sub(r"[ \t]*appliance\.factory-reset=\S*", "", entry)
    edited = re.sub(r"(?m)^(options\b.*?)[ \t]*\r?$", rf"\1 {word}", bare, count=1)
    local = work / "entry.conf"
    local.write_text(edited)
    subprocess.run(
        ["mcopy", "-o", "-i", f"{disk}@@{part.start}", str(local), f"::{path}"],
        check=True,
        env={"MTOOLS_SKIP_CHECK": "1", "PATH": "/usr/bin:/bin"},
    )
    return disk


@pytest.fixture(scope="session")
def used(unit, story) -> Path:
    """A's disk; what a check before left undone is done now."""
    if not story.machine_id and story.disk_of_a is None:
        story.machine_id, story.host_keys = unit.say(IDENTITY), unit.host_keys()
        story.private += private_marks(unit)
    return disk_of_a(unit, story)


@pytest.fixture(scope="session")
def returned(machines, used, work) -> Unit:
    """Unit C: A's disk, with a reset word added to its boot entry's options, nothing else."""
    disk = work / "c.img"
    subprocess.run(["cp", "--sparse=always", str(used), str(disk)], check=True)
    machine = machines.create(
        "returned",
        disks=[Disk(with_word(disk, work))],
        nics=[Nic(forwards=[22, SERVICE])],
        vga=False,
    )
    return Unit(machine, HERE / "customer_key", work / "C")


@milestone(
    "factory-reset",
    weight=3,
    requires=["service"],
    proves=["R31", "R34"],
    title="Like new by a word on the kernel's command line",
)
def test_a_reset_that_lost_power_completes(returned, unit, used, story):
    marks = [story.device_key, next(iter(story.records.values()), "").encode()]
    assert all(marks) and holds(used, marks) == set(marks), (
        "the used disk does not show what is stored in /data; [R9]: it lies there in clear"
    )
    returned.machine.boot()
    time.sleep(part_of_a_start(unit, 0.3 + 0.04 * secrets.randbelow(10)))
    returned.power_cut()
    returned.machine.boot()
    returned.came_up(RESET_SECONDS)
    assert returned.service_in_time(), "no answer within 240 s of the reset [R31], [R34]"
    is_forgotten(returned, story)


def is_forgotten(unit: Unit, story: Story) -> None:
    """The logbook is empty, and nothing of the owner's lies in /data."""
    said = unit.ask("COUNT")
    assert said == ["COUNT 0"], f"the logbook of a reset unit says {said}; [R31]: empty"
    assert story.owners_file not in unit.say("ls -A /data"), "a file of the owner's is there [R31]"


@check("factory-reset", proves=["R31"])
def test_a_reset_unit_is_a_new_unit(returned, story, nonce):
    returned.is_running()
    assert returned.say(IDENTITY) not in ("", story.machine_id), "the old machine-id [R31]"
    old = set(returned.host_keys().values()) & set(story.host_keys.values())
    assert not old, f"{len(old)} old host keys [R31]"
    key = returned.device_key()
    assert key != story.device_key, "the old device key [R31]"
    assert returned.signature_is(key, nonce())


@check("factory-reset", proves=["R32"])
def test_nothing_of_the_owner_is_left_on_the_disk(returned, story):
    returned.ssh("sync")
    marks = [story.device_key, story.machine_id.encode(), story.log_word.encode(), *story.private]
    with contextlib.suppress(ValueError):
        marks.append(bytes.fromhex(story.machine_id))  # as journald writes it
    marks += [value.encode() for value in story.records.values()]
    left = holds(returned.machine.flatten(), [mark for mark in marks if len(mark) > 7])
    assert not left, f"{len(left)} of {len(marks)} secrets are still on the disk [R32]"


@check("factory-reset", proves=["R33"])
def test_each_word_is_obeyed_once(returned, nonce):
    value, identity = nonce(), returned.say(IDENTITY)
    assert returned.ask(f"PUT after.reset {value}")[0].startswith("OK ")
    returned.reboot()
    assert returned.service_in_time()
    kept = returned.ask("GET after.reset")
    assert kept == [f"VALUE {value}"], f"the same word was obeyed again [R33]: {kept}"
    assert returned.say(IDENTITY) == identity, "the same word was obeyed again [R33]"


@check("factory-reset", proves=["R28", "R33"])
def test_another_word_resets_again(machines, returned, story, work, nonce):
    identity = returned.say(IDENTITY)
    assert returned.ask(f"PUT before.another {nonce()}")[0].startswith("OK ")
    returned.power_cut()
    disk = with_word(returned.machine.flatten(), work)
    machine = machines.create(
        "returned-again", disks=[Disk(disk)], nics=[Nic(forwards=[22, SERVICE])], vga=False
    )
    again = Unit(machine, HERE / "customer_key", work / "D")
    again.machine.boot()
    again.came_up(RESET_SECONDS)
    assert again.service_in_time(), "no answer within 240 s of the second reset [R31]"
    said = again.ask("COUNT")
    assert said == ["COUNT 0"], f"another word did not reset: {said} [R33]"
    assert again.say(IDENTITY) != identity, "another word did not make it a new unit [R33]"
    again.power_cut()
    unchanged(Image(disk), Image(again.machine.flatten()), story)
