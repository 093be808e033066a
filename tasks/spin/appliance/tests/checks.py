"""The questions that an appliance image has to answer, in eight boots of three units.

Unit A (virtio, a disk larger than the image) is asked nearly everything; it is restarted once with
a full /data and once after a power cut. Unit B is the other model, and loses power in the middle of
its first boot. Unit C is A's disk with the factory-reset word in its boot entry; it loses power in
the middle of the reset.
"""

from __future__ import annotations

import re
import secrets
import shlex
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from unit import SERVICE, Unit, digest, holds

from benchflow.boot import Disk, Image, Nic, check, milestone

HERE = Path(__file__).parent
DELIVERED = "/app/out/appliance.img"
DISK_MB = 2048
STORED_MB = 192
BUILD_ID = "SK-48213-7f41c0d9"
IDENTITY = "cat /etc/machine-id"
SHELLS = "awk -F: '$7 !~ /(nologin|false|sync)$/ {print $1}' /etc/passwd"


@dataclass
class Story:
    """What earlier boots left for later checks."""

    records: dict[str, str] = field(default_factory=dict)
    log_word: str = ""
    machine_id: str = ""
    host_key: str = ""
    device_key: bytes = b""
    boot_seconds: float = 0.0
    closed_ports: list[int] = field(default_factory=list)
    disk_of_a: Path | None = None


@pytest.fixture(scope="session")
def story() -> Story:
    return Story()


@pytest.fixture(scope="session")
def unit(machines, deliverable, work, story) -> Unit:
    """Unit A, model 300."""
    disk = work / "a.img"
    subprocess.run(["cp", "--sparse=always", str(deliverable()), str(disk)], check=True)
    with disk.open("r+b") as file:
        file.truncate(DISK_MB << 20)
    story.closed_ports = [secrets.randbelow(900) + 100, secrets.randbelow(50000) + 10000]
    machine = machines.create(
        "model-300",
        disks=[Disk(disk)],
        nics=[Nic(forwards=[22, SERVICE, *story.closed_ports])],
        vga=False,
    )
    return Unit(machine, HERE / "customer_key", work / "A")


def esp_of(image: Image):
    found = [p for p in image.partitions() if p.type.upper().startswith("C12A7328")]
    assert len(found) == 1, f"{len(found)} EFI system partitions"
    return found[0], image.fat(found[0])


def entry_of(image: Image) -> tuple[str, str]:
    _, esp = esp_of(image)
    entries = [n for n in esp.listdir("/loader/entries") if n.lower().endswith(".conf")]
    assert len(entries) == 1, f"{len(entries)} boot entries: {entries}"
    path = f"/loader/entries/{entries[0]}"
    return path, esp.read_text(path)


def field_of(entry: str, key: str) -> list[str]:
    return [line.split(None, 1)[1] for line in entry.splitlines() if line.split()[:1] == [key]]


# ---- image ------------------------------------------------------------------------------------


@milestone("image", weight=1, proves=["R1"], title="A UEFI disk image")
def test_disk_has_gpt_esp_and_loader(image):
    disk = image()
    assert {p.table for p in disk.partitions()} == {"gpt"}
    _, esp = esp_of(disk)
    assert esp.read("/EFI/BOOT/BOOTX64.EFI")[:2] == b"MZ"


@check("image", proves=["R1", "R31"])
def test_one_boot_entry_with_one_options_line(image):
    _, entry = entry_of(image())
    _, esp = esp_of(image())
    assert len(field_of(entry, "options")) == 1
    for key in ("linux", "initrd"):
        for path in field_of(entry, key):
            assert esp.stat(path.strip()).size > 1 << 20, f"{key} {path} is not there"
    assert field_of(entry, "linux")


@check("image", proves=["R2"])
def test_image_is_within_its_size(deliverable, metric):
    status = deliverable().stat()
    stored = status.st_blocks * 512 / (1 << 20)
    metric("stored_mb", round(stored, 1))
    assert status.st_size <= 512 << 20, f"{status.st_size >> 20} MiB"
    assert stored <= STORED_MB, f"{stored:.0f} MiB are stored"


# ---- boots ------------------------------------------------------------------------------------


@milestone("boots", weight=2, requires=["image"], proves=["R3", "R5"], title="Boots unattended")
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
    assert f"{name}.service" in group
    assert unit.say("cat /proc/1/comm") == "systemd"
    assert unit.say("cat /etc/debian_version").startswith("12.")


@check("boots", proves=["R4"])
def test_everything_started(unit):
    state = unit.state()
    failed = unit.ssh("systemctl --failed --no-legend --plain", check=False).text
    assert state == "running", f"{state}: {failed}"


# ---- ssh --------------------------------------------------------------------------------------


@milestone("ssh", weight=2, requires=["boots"], proves=["R5"], title="Keys only")
def test_only_keys_are_offered_to_anybody(unit):
    users = unit.say(SHELLS).split()[:8]
    for user in dict.fromkeys(["root", *users, "admin"]):
        assert unit.offered_methods(user) == ["publickey"], user


@check("ssh", proves=["R5"])
def test_no_other_key_opens(unit, work):
    key = work / "stranger"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    assert not unit.key_opens(key)


@check("ssh", proves=["R6"])
def test_no_account_has_a_password(unit):
    for line in unit.say("cat /etc/shadow").splitlines():
        user, password = line.split(":")[:2]
        assert password[:1] in ("!", "*"), f"{user} has a password"
    assert unit.say('awk -F: \'$2 != "x" || ($3 == 0 && $1 != "root")\' /etc/passwd') == ""


# ---- readonly ---------------------------------------------------------------------------------

ATTEMPTS = r"""
for d in / /etc /usr /usr/bin /usr/lib /root /opt /boot /home /srv /etc/systemd/system /etc/ssh; do
  [ -d "$d" ] || continue
  if (: >"$d/written.$$") 2>/dev/null; then echo "can create files in $d"; rm -f "$d/written.$$"; fi
done
for f in /etc/passwd /etc/shadow /etc/os-release /usr/bin/skerryd /etc/fstab; do
  if [ -e "$f" ] && (: >>"$f") 2>/dev/null; then echo "can write $f"; fi
done
"""


@milestone("readonly", weight=2, requires=["ssh"], proves=["R7"], title="A read-only system")
def test_the_system_cannot_be_written(unit):
    assert unit.say(ATTEMPTS) == ""


@check("readonly", proves=["R7"])
def test_not_even_after_a_remount(unit):
    unit.ssh("mount -o remount,rw / ; mount -o remount,rw /usr; mount -o remount,rw /etc; :")
    assert unit.say(ATTEMPTS) == ""


@check("readonly", proves=["R8"])
def test_scratch_places_can_be_written(unit):
    unit.ssh("for d in /tmp /var/tmp /run; do echo x >$d/scratch || exit 1; done")


# ---- data -------------------------------------------------------------------------------------


@milestone("data", weight=1, requires=["ssh"], proves=["R9"], title="/data on the rest of the disk")
def test_data_is_a_partition(unit):
    device = unit.say("awk '$2 == \"/data\" && $4 ~ /^rw/ {print $1}' /proc/mounts").split()
    assert len(device) == 1, f"/data is mounted from {device}"
    name = unit.say(f"basename $(readlink -f {shlex.quote(device[0])})")
    assert unit.ssh(f"test -e /sys/class/block/{name}/partition", check=False).status == 0
    word = secrets.token_hex(16)
    unit.ssh(f"echo {word} >/data/question && sync && test $(cat /data/question) = {word}")


@check("data", proves=["R10"])
def test_data_takes_what_the_disk_has(unit, deliverable):
    kilobytes = int(unit.say("df -P /data | awk 'END {print $2}'"))
    free = (DISK_MB << 20) - deliverable().stat().st_size
    assert kilobytes * 1024 > 0.9 * free, f"/data has {kilobytes >> 10} of {free >> 20} MiB"


# ---- service ----------------------------------------------------------------------------------

LISTENER = f"""
inode=$(awk '$4 == "0A" && $2 ~ /:{SERVICE:04X}$/ {{print $10}}' /proc/net/tcp | head -n 1)
find /proc/[0-9]*/fd -lname "socket:\\[$inode\\]" 2>/dev/null |
  cut -d / -f 3 | grep -vx 1 | grep -m 1 .
"""


def service_pid(unit: Unit) -> int:
    return int(unit.say(LISTENER).split()[0])


@milestone("service", weight=2, requires=["data"], proves=["R11"], title="The logbook service")
def test_service_signs_with_the_key_on_data(unit, story, nonce):
    key = story.device_key = unit.device_key()
    assert len(key) == 32
    assert unit.signature_is(key, nonce())


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
def test_service_answered_in_time(unit, story, metric):
    assert unit.service_in_time(), "no answer in time after the first power-on"
    story.boot_seconds = unit.service_seconds
    metric("boot_seconds", round(story.boot_seconds, 1))


@check("service", proves=["R11"])
def test_service_is_built_from_the_source(unit):
    pid = service_pid(unit)
    assert unit.say(f"readlink /proc/{pid}/exe") == "/usr/bin/skerryd"
    program = bytes.fromhex(unit.say("od -An -v -tx1 /usr/bin/skerryd | tr -d ' \\n'"))
    assert program[:4] == b"\x7fELF"
    for text in (b"skerryd: request %.*s", b"device-id", b"will not run as root"):
        assert text in program


@check("service", proves=["R12"])
def test_service_has_no_privileges(unit):
    status = unit.say(f"cat /proc/{service_pid(unit)}/status")
    values = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    users = {int(word) for word in values["Uid"].split()}
    assert 0 not in users and 65534 not in users, f"runs as {users}"
    assert int(values["CapEff"], 16) == int(values["CapPrm"], 16) == int(values["CapBnd"], 16) == 0
    assert values["NoNewPrivs"].strip() == "1"
    assert unit.say("stat -c %u:%a /data/skerry/device.key") == f"{users.pop()}:600"


# ---- firewall ---------------------------------------------------------------------------------


@milestone("firewall", weight=2, requires=["service"], proves=["R13"], title="Two open ports")
def test_nothing_else_can_be_reached(unit, story, nonce):
    for port in story.closed_ports:
        unit.ssh(
            f"systemd-run --quiet --unit=echo-{port} "
            f"systemd-socket-activate --accept --inetd -l 0.0.0.0:{port} cat",
            seconds=90,
        )
        word = nonce()
        inside = (
            f"i=0; until {{ exec 3<>/dev/tcp/127.0.0.1/{port}; }} 2>/dev/null || [ $i = 60 ]; do "
            f"sleep 0.5; i=$((i+1)); done; echo {word} >&3; read -t 20 word <&3; echo $word"
        )
        heard = unit.say(f"bash -c {shlex.quote(inside)}", seconds=90)
        assert heard == word, "our own listener is not there"
        assert not unit.hears(port, nonce()), f"port {port} can be reached from outside"


@check("firewall", proves=["R13"])
def test_both_open_ports_stay_open(unit, nonce):
    unit.answers(20)
    assert unit.ssh("true").status == 0


# ---- supervision ------------------------------------------------------------------------------


RUNNING = "grep -lx skerryd /proc/[0-9]*/comm | cut -d / -f 3 | head -n 1"
KILLS = f"""
for signal in KILL SEGV KILL TERM KILL ABRT KILL KILL; do
  old=$({RUNNING}); new=; kill -$signal $old; i=0
  until new=$({RUNNING}); [ -n "$new" ] && [ "$new" != "$old" ]; do
    i=$((i+1)); [ $i -gt 40 ] && echo "not back after SIG$signal" && exit 1
    sleep 0.25
  done
done
"""


@milestone("supervision", weight=1, requires=["service"], proves=["R14"], title="Crash and hang")
def test_service_comes_back_however_often_it_dies(unit, nonce):
    unit.ssh(KILLS, seconds=8 * 15)
    unit.answers(10)
    assert unit.signature_is(unit.device_key(), nonce())


@check("supervision", proves=["R15"])
def test_a_hung_service_is_replaced(unit):
    pid = service_pid(unit)
    unit.ssh(f"kill -STOP {pid}")
    unit.answers(60)
    assert service_pid(unit) != pid


# ---- brand ------------------------------------------------------------------------------------


@milestone("brand", weight=1, requires=["ssh"], proves=["R16"], title="The customer's name")
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
    assert {key: lines.get(key, "").strip("\"'") for key in wanted} == wanted


@check("brand", proves=["R17"])
def test_hostname_follows_from_the_machine_id(unit):
    wanted = "logbook-" + unit.say(IDENTITY)[:6]
    assert re.fullmatch(r"logbook-[0-9a-f]{6}", wanted)
    assert unit.say("uname -n") == wanted
    # systemd and the kernel may write on, behind the prompt.
    prompts = re.findall(r".*login:.*", unit.machine.console.tail(20000))
    prompt = unit.machine.console.search(re.compile(rf"{wanted} login:"), 0)
    assert prompt, f"no prompt of {wanted}, but {prompts[:3]}"


@check("brand", proves=["R18"])
def test_greetings(unit):
    # The order asks for three things on one line; how they are joined is the maker's choice.
    line = rf"(?m)^(?=.*Skerry Logbook)(?=.*(?<![\d.])2\.3(?!\.?\d)).*{BUILD_ID}"
    assert unit.machine.console.search(re.compile(line), 0), "not before the console's log-in"
    text = unit.login_text()
    assert re.search(line, text), f"not after a log-in over SSH: {text[-500:]!r}"


# ---- lean -------------------------------------------------------------------------------------

TOOLS = (
    "for t in gcc cc g++ c++ clang tcc cpp make cmake as ld gdb strace dpkg-buildpackage fakeroot "
    "debootstrap mmdebstrap git curl wget python3 qemu-img mksquashfs; do command -v $t; done; :"
)
LEFTOVERS = r"""
ls -A /var/cache/apt /var/cache/apt/archives /var/lib/apt/lists 2>/dev/null |
  grep -vE '^(/.*:|archives|partial|lock|auxfiles|)$'
find / -xdev \( -name '*.deb' -o -name 'skerryd.[cho]' -o -name '.git' \) 2>/dev/null
find /usr/include /usr/src -type f 2>/dev/null | head -n 5
find /usr/share/man /usr/share/info -type f ! -name dir 2>/dev/null | head -n 5
:
"""


@milestone("lean", weight=1, requires=["ssh"], proves=["R19"], title="Nothing left over")
def test_no_tools_to_build_or_fetch_with(unit):
    assert unit.say(TOOLS) == ""


@check("lean", proves=["R20"])
def test_no_caches_sources_or_manuals(unit):
    assert unit.say(LEFTOVERS, seconds=120) == ""


@check("lean", proves=["R21"])
def test_packages_can_be_listed_and_keep_their_licences(unit):
    packages = unit.say("dpkg-query -W -f '${Package}\\n'").split()
    assert {"systemd", "openssh-server", "dpkg", "libc6"} <= set(packages)
    missing = unit.say(
        "for p in $(dpkg-query -W -f '${Package}\\n'); do"
        " [ -e /usr/share/doc/$p/copyright ] || echo $p; done",
        seconds=120,
    )
    assert missing == "", f"no copyright file: {missing.split()[:5]}"


# ---- logs -------------------------------------------------------------------------------------


@milestone("logs", weight=2, requires=["data"], proves=["R22"], title="Logs kept and bounded")
def test_logs_stay_within_their_budget(unit, story):
    story.log_word = f"word-{secrets.token_hex(8)}"
    unit.ssh(
        "line=$(head -c 24000 /dev/urandom | base64 -w 0); i=0; "
        "while [ $i -lt 450 ]; do echo $i $line; i=$((i+1)); done | systemd-cat -t noise",
        seconds=240,
    )
    # systemd-cat leaves up to 8 MiB in its socket, which would push the word out again.
    unit.ssh("sleep 3; journalctl --sync", seconds=240)
    unit.ssh(f"echo {story.log_word} | systemd-cat -t question; sleep 3; journalctl --sync")
    text = unit.say("journalctl -t question -o cat; :", seconds=120)
    assert story.log_word in text, f"{story.log_word} is not in the journal: {text[-500:]!r}"
    used = int(
        unit.say("du -skx /var/log /data/log /run/log 2>/dev/null | sort -n | tail -n 1 | cut -f 1")
    )
    assert used <= 8 << 10, f"logs take {used} KiB"


@check("logs", proves=["R23"])
def test_previous_boots_log_can_be_read(unit, story):
    second_boot(unit, story)
    text = unit.say("journalctl -b -1 -t question -o cat", seconds=120)
    assert story.log_word in text


def second_boot(unit: Unit, story: Story) -> None:
    """The restart of unit A with a full /data; the first caller pays for it."""
    if story.machine_id:
        return
    story.machine_id = unit.say(IDENTITY)
    story.host_key = unit.host_key()
    unit.ssh(
        "fallocate -l 4G /data/filler; dd if=/dev/zero of=/data/filler2 bs=4k; sync; :", seconds=200
    )
    unit.reboot()


# ---- identity ---------------------------------------------------------------------------------


@milestone("identity", weight=2, requires=["service"], proves=["R24"], title="Stays who it is")
def test_identity_survives_a_restart(unit, story):
    second_boot(unit, story)
    assert re.fullmatch("[0-9a-f]{32}", story.machine_id)
    assert unit.say(IDENTITY) == story.machine_id
    assert unit.host_key() == story.host_key
    assert unit.device_key() == story.device_key
    assert unit.service_in_time()


@check("identity", proves=["R25"])
def test_full_disk_does_no_harm(unit, story, nonce):
    keys = list(story.records)
    assert unit.ask(*[f"GET {k}" for k in keys]) == [f"VALUE {v}" for v in story.records.values()]
    assert unit.signature_is(story.device_key, nonce())
    unit.ssh("rm /data/filler*; sync")
    key, value = f"later.{secrets.token_hex(4)}", nonce()
    assert unit.ask(f"PUT {key} {value}")[0].startswith("OK ")
    story.records[key] = value


# ---- power-cut --------------------------------------------------------------------------------


@milestone(
    "power-cut", weight=3, requires=["identity"], proves=["R26"], title="Survives a power cut"
)
def test_acknowledged_records_survive(unit, story, metric):
    kept = unit.put_many("cut", 4.0, least=5)
    unit.power_cut()
    assert len(kept) >= 5, f"{len(kept)} records were acknowledged"
    metric("records_before_cut", len(kept))
    story.records.update(kept)
    unit.power_on()
    assert unit.service_in_time()
    got = unit.ask(*[f"GET {key}" for key in story.records], seconds=60)
    assert got == [f"VALUE {value}" for value in story.records.values()]


@check("power-cut", proves=["R4", "R24", "R27"])
def test_unit_is_whole_again(unit, story):
    assert unit.state() == "running"
    assert unit.say(IDENTITY) == story.machine_id
    assert unit.host_key() == story.host_key
    assert unit.device_key() == story.device_key


@check("power-cut", proves=["R28"])
def test_all_but_data_is_as_delivered(unit, story, deliverable, image):
    unit.power_cut()
    story.disk_of_a = unit.machine.flatten()
    before, after = image(), Image(story.disk_of_a)
    last = max(p.start for p in before.partitions())
    for part in before.partitions():
        if part.start == last:
            continue
        now = after.partition(part.number)
        assert (now.start, now.size) == (part.start, part.size)
        assert digest(after.path, now.start, now.size) == digest(
            before.path, part.start, part.size
        ), f"partition {part.number} has changed"
    grown = [p for p in after.partitions() if p.start == last]
    assert grown[0].start + grown[0].size > 0.98 * (DISK_MB << 20)


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


@milestone(
    "two-machines",
    weight=2,
    requires=["service"],
    proves=["R29", "R30"],
    title="The other model, and a first boot that was cut short",
)
def test_other_model_boots_after_a_cut_first_boot(other, story):
    other.machine.boot()
    time.sleep(story.boot_seconds * 0.6)
    other.power_cut()
    other.power_on()
    assert other.service_in_time()
    assert other.state() == "running"


@check("two-machines", proves=["R29"])
def test_service_works_on_the_other_model(other, nonce):
    key, value = nonce(), nonce()
    assert other.ask(f"PUT {key} {value}", f"GET {key}")[1] == f"VALUE {value}"
    assert other.signature_is(other.device_key(), nonce())


@check("two-machines", proves=["R24"])
def test_no_two_units_share_an_identity(other, unit, story):
    assert other.say(IDENTITY) not in ("", story.machine_id or unit.say(IDENTITY))
    assert other.host_key() != (story.host_key or unit.host_key())
    assert other.device_key() != (story.device_key or unit.device_key())
    other.power_cut()


# ---- factory reset ----------------------------------------------------------------------------


@pytest.fixture(scope="session")
def returned(machines, story, work) -> Unit:
    """Unit C: A's disk, with a reset word added to its boot entry's options, nothing else."""
    disk = work / "c.img"
    subprocess.run(["cp", "--sparse=always", str(story.disk_of_a), str(disk)], check=True)
    path, entry = entry_of(Image(disk))
    part, _ = esp_of(Image(disk))
    word = f"appliance.factory-reset={secrets.token_hex(4)}"
    edited = re.sub(r"(?m)^(options\s.*?)[ \t]*\r?$", rf"\1 {word}", entry, count=1)
    local = work / "entry.conf"
    local.write_text(edited)
    subprocess.run(
        ["mcopy", "-o", "-i", f"{disk}@@{part.start}", str(local), f"::{path}"],
        check=True,
        env={"MTOOLS_SKIP_CHECK": "1", "PATH": "/usr/bin:/bin"},
    )
    machine = machines.create(
        "returned", disks=[Disk(disk)], nics=[Nic(forwards=[22, SERVICE])], vga=False
    )
    return Unit(machine, HERE / "customer_key", work / "C")


@milestone(
    "factory-reset",
    weight=3,
    requires=["power-cut"],
    proves=["R31", "R34"],
    title="Like new by a word on the kernel's command line",
)
def test_a_reset_that_lost_power_completes(returned, story):
    marks = [
        story.device_key,
        story.machine_id.encode(),
        next(iter(story.records.values())).encode(),
    ]
    assert holds(story.disk_of_a, marks) == set(marks), "the used disk does not hold its secrets"
    returned.machine.boot()
    time.sleep(story.boot_seconds * 0.5)
    returned.power_cut()
    returned.machine.boot()
    returned.came_up(240)
    assert returned.service_in_time()
    assert returned.ask("COUNT") == ["COUNT 0"]
    assert returned.say("ls /data").find("question") < 0


@check("factory-reset", proves=["R31"])
def test_a_reset_unit_is_a_new_unit(returned, story, nonce):
    state = returned.ssh(
        "systemctl is-system-running --wait", seconds=120, check=False
    ).text.strip()
    assert state == "running"
    assert returned.say(IDENTITY) not in ("", story.machine_id)
    assert returned.host_key() != story.host_key
    key = returned.device_key()
    assert key != story.device_key
    assert returned.signature_is(key, nonce())


@check("factory-reset", proves=["R32"])
def test_nothing_of_the_owner_is_left_on_the_disk(returned, story):
    returned.ssh("sync")
    marks = [story.device_key, story.machine_id.encode(), story.log_word.encode()]
    marks += [value.encode() for value in story.records.values()]
    left = holds(returned.machine.flatten(), [mark for mark in marks if mark])
    assert not left, f"{len(left)} of {len(marks)} secrets are still on the disk"


@check("factory-reset", proves=["R33"])
def test_each_word_is_obeyed_once(returned, nonce):
    value, identity = nonce(), returned.say(IDENTITY)
    assert returned.ask(f"PUT after.reset {value}")[0].startswith("OK ")
    returned.reboot()
    assert returned.service_in_time()
    assert returned.ask("GET after.reset") == [f"VALUE {value}"]
    assert returned.say(IDENTITY) == identity
