"""host-os: does the cabinet run what the list says, keep everybody in bounds, and never change?"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
import time
from itertools import pairwise

import ed25519
import pytest
from bundle import HEAD, MANIFEST, manifest
from host import PASSWORD, PORTS, Host, on_bench
from programs import PORT
from questions import FORKS, KNOCK, keeps, look, ranges, refused, runs, starts
from site_data import RUNNING

from benchflow.boot import check, milestone
from benchflow.boot.errors import LoginFailed

SECONDS = 60
DEVICES = {"null", "zero", "full", "random", "urandom", "tty", "console", "ptmx"}


# ---- image ----------------------------------------------------------------------------------


@milestone("image", weight=1, proves=["R1"], title="The disk and its partitions")
def test_the_disk(disk, layout):
    assert disk.size <= 768 << 20, f"the image has {disk.size} bytes"
    assert all(part.table == "gpt" for part in disk.partitions()), "the disk has no GPT"
    sizes = {name: size for name, (_, size) in layout.places.items()}
    assert sizes["slot-a"] == sizes["slot-b"], f"the slots differ: {sizes}"
    assert 32 << 20 <= sizes["slot-a"] <= 300 << 20, f"the size of the slots: {sizes}"
    assert sizes["data"] >= 128 << 20, f"the size of data: {sizes}"


@check("image", proves=["R2"])
def test_slot_a_is_the_first_bundle(disk, layout, vendor):
    size = vendor.first.stat().st_size
    assert size == HEAD + vendor.slot, f"first.bundle has {size} bytes"
    found = layout.digest(disk.path, "a")
    assert found == vendor.release1.digest, "slot a is not the slot image of first.bundle"
    part = next(part for part in disk.partitions() if part.name == "slot-a")
    assert disk.filesystem(part) == "ext4", f"slot a holds {disk.filesystem(part)}"
    problems = disk.ext4(part).problems()
    assert problems == "", f"the file system of slot a: {problems[:500]}"
    text = disk.ext4(part).read_text("/etc/host-release")
    assert "version=1" in text.splitlines(), f"/etc/host-release: {text[:200]!r}"


@check("image", proves=["R30"])
def test_the_first_bundle_is_signed(vendor):
    text = manifest(1, vendor.release1.digest, vendor.slot)
    assert vendor.head()[:MANIFEST] == text, "another manifest than the order's"
    right = ed25519.sign(vendor.seed, text)
    assert vendor.head()[MANIFEST:] == right, "not signed with vendor.pem"


@check("image", proves=["R1"])
def test_the_private_key_is_not_on_the_disk(disk, vendor):
    der = base64.b64encode(ed25519.PKCS8 + vendor.seed)
    secret = [vendor.seed, der[-40:], vendor.seed.hex().encode()]
    last = b""
    with disk.path.open("rb") as stream:
        while data := stream.read(1 << 24):
            assert not any(one in last + data for one in secret), "the private key is on the disk"
            last = data[-128:]


# ---- boots ----------------------------------------------------------------------------------


@milestone("boots", weight=2, requires=["image"], proves=["R4"], title="It starts by itself")
def test_it_starts_in_time(bare, metric):
    bare.start(SECONDS)
    metric("boot_seconds", bare.machine.elapsed)


@check("boots", proves=["R6", "R7"])
def test_it_says_that_there_is_no_carrier(bare):
    deadline = bare.machine.deadline(30)
    while (found := bare.status())[0]["state"] != "confirmed":
        assert deadline.remaining() > 0, f"version 1 is not confirmed: {found[0]}"
        time.sleep(1)
    wanted = {"version": 1, "slot": "a", "state": "confirmed", "other": "none",
              "other_version": None, "carrier": "absent"}  # fmt: skip
    said = {key: found[0].get(key) for key in wanted}
    assert said == wanted, f"without a carrier the host says {said}"
    assert found[1] == {}, f"without a carrier there are containers: {found[1]}"


@check("boots", proves=["R5"])
def test_the_root_cannot_be_written(bare):
    rows = [line.split() for line in bare.say("cat /proc/mounts").splitlines()]
    mounts = {row[1]: (row[2], row[3].split(",")) for row in rows if len(row) > 3}
    assert mounts["/"][0] == "ext4" and "ro" in mounts["/"][1], f"/ is {mounts['/']}"
    for place in ("/run", "/tmp"):
        assert mounts.get(place, ("",))[0] in ("tmpfs", "ramfs"), f"{place}: {mounts.get(place)}"
        bare.say(f"echo word >{place}/bench && rm {place}/bench")
    bare.machine.shell.run("mount -o remount,rw /", timeout=30)
    assert bare.code("echo word >/etc/bench") != 0, "/etc can be written after remount,rw"
    device = bare.say(
        "sed -n 's/^DEVNAME=//p' $(grep -l '^PARTNAME=slot-a$' /sys/class/block/*/uevent)"
    )
    bare.machine.shell.run(
        f"mkdir -p /tmp/m && mount -t ext4 -o rw /dev/{device} /tmp/m; echo x >/tmp/m/bench; sync"
    )


@check("boots", proves=["R2", "R4"])
def test_no_other_password_and_an_unchanged_slot(bare, layout, vendor):
    digest = bare.slots(layout)["a"]
    assert digest == vendor.release1.digest, "slot a was changed"
    bare.say("sync")
    bare.machine.reboot(timeout=60)
    with pytest.raises(LoginFailed):
        bare.machine.login("root", f"{PASSWORD[:-1]}5", timeout=60)
    bare.login()
    bare.power_off()


# ---- runs -----------------------------------------------------------------------------------


@milestone("runs", weight=2, requires=["boots"], proves=["R8", "R17"], title="It runs containers")
def test_a_container_answers(host, site):
    said = host.ask(8001, "cat /word; echo; hostname")
    assert said.splitlines() == [site.words["web"], "web"], f"web says {said!r}"
    one = host.container("web")
    assert (one["state"], one["reason"]) == ("running", None), f"web: {one}"
    assert one["image"] == site.digests["web"], f"web's image: {one['image']}"


@check("runs", proves=["R13"])
def test_entrypoint_and_arguments(host, site):
    line = host.ask(8001, "tr '\\0' '\\n' </proc/1/cmdline").splitlines()
    wanted = ["/bin/sh", "/serve", f"echo said {site.words['args']}"]
    assert line == wanted, f"web's first process is {line}"
    cmd = host.comes_to("cmd", state="exited")
    assert (cmd["exit"], host.logs("cmd")) == (0, "cmd"), f"Cmd was not run: {cmd}"


@check("runs", proves=["R13", "R8"])
def test_environment_and_folder(host, site):
    env = host.ask(8001, "tr '\\0' '\\n' </proc/1/environ").splitlines()
    wanted = {"COLOUR=red", f"TIDE={site.words['env']}"}
    assert wanted <= set(env), f"web's environment is {env}"
    assert "TIDE=low" not in env, "the image's value was not replaced"
    assert host.ask(8001, "readlink /proc/1/cwd") == "/www", "WorkingDir does not hold"


@check("runs", proves=["R13"])
def test_users(host):
    script = "grep -E '^(Uid|Gid):' /proc/1/status"
    found = {port: host.ask(port, script).split() for port in (8001, 8002, 8004)}
    wanted = {8001: (1234, 3456), 8002: (0, 0), 8004: (77, 78)}
    for port, (uid, gid) in wanted.items():
        line = ["Uid:", *[str(uid)] * 4, "Gid:", *[str(gid)] * 4]
        assert found[port] == line, f"behind {port}: {found[port]}, due: {uid}:{gid}"


@check("runs", proves=["R8", "R5"])
def test_the_carrier(host):
    rows = [line.split() for line in host.say("cat /proc/mounts").splitlines()]
    options = [row[3].split(",") for row in rows if len(row) > 3 and row[1] == "/carrier"]
    assert options and "ro" in options[-1], f"/carrier is mounted {options}"
    assert host.status()[0]["carrier"] == "present", host.status()[0]


# ---- layers ---------------------------------------------------------------------------------


@milestone("layers", weight=2, requires=["runs"], proves=["R11"], title="Images, layer by layer")
def test_the_right_image_is_chosen(host, site):
    assert host.ask(8002, "cat /word") == site.words["layers"], "not the image of ref and platform"
    assert host.container("layers")["image"] == site.digests["layers"], "another manifest"
    # An image whose layer is not packed.
    assert host.ask_behind(8001, 9000, "cat /word") == site.words["base"], "ledger does not answer"


@check("layers", proves=["R12"])
def test_whiteouts(host, site):
    new, old = site.words["layers"], site.words["old"]
    wanted = {"gone": "", "late": "", "again": new, "shut/a": "", "shut/b": "", "shut/new": new,
              "deep/er/one": "", "kept": old}  # fmt: skip
    found = look(host, *wanted)
    assert found == wanted, f"whiteouts: {found}, due: {wanted}"


@check("layers", proves=["R12"])
def test_links_and_what_is_replaced(host, site):
    new, old = site.words["layers"], site.words["old"]
    wanted = {"to-folder/inner": new, "to-file": new, "real/first": old, "real/through": new,
              "alias/through": new, "twin": old, "third": old, "dotted": new,
              "with space": old, "l" * 150: old}  # fmt: skip
    found = look(host, *wanted)
    assert found == wanted, f"{found}, due: {wanted}"
    assert host.ask(8002, 'cat "/t/odd-%s\'\\"\\$x"') == new, "a name with quotes is missing"
    inodes = host.ask(8002, "cd /t; stat -c %i origin twin kept third").split()
    assert len(inodes) == 4 and inodes[0] == inodes[1] and inodes[2] == inodes[3], (
        f"hard links are copies: {inodes}"
    )


@check("layers", proves=["R12"])
def test_owners_and_modes(host):
    said = host.ask(8002, "cd /t; stat -c '%n %F %a %u:%g' owned mine alias gone; ls -l alias")
    assert "owned regular file 4751 12:34" in said, f"owner and mode of a file: {said}"
    assert "mine directory 750 6:0" in said, f"owner and mode of a folder: {said}"
    assert "alias -> /t/real" in said, f"a link: {said}"


@check("layers", proves=["R12"])
def test_nothing_leaves_its_tree(host, site):
    name = site.words["hostile"]
    found = host.say(f"ls -d /run/{name} /tmp/{name} /data/run/{name} /{name} 2>/dev/null; :")
    assert found == "", f"a layer wrote to the host: {found}"
    assert host.status()[0]["version"] == 1, "the host no longer knows itself"
    for number in range(6):
        one = host.container(f"hostile{number}")
        if one["state"] != "refused":
            said = host.logs(f"hostile{number}")
            assert "root:" not in said.replace("root:x:", ""), f"a layer read from the host: {said}"


# ---- refuses --------------------------------------------------------------------------------


@milestone("refuses", weight=2, requires=["layers"], proves=["R10"], title="What cannot be run")
def test_entries_that_are_written_wrongly(host, site):
    refused(host, site, "entry")


@check("refuses", proves=["R10"])
def test_a_port_of_two(host, site):
    refused(host, site, "port")
    assert host.container("web")["state"] == "running"


@check("refuses", proves=["R10", "R11"])
def test_damaged_images(host, site):
    refused(host, site, "digest")


@check("refuses", proves=["R10", "R11", "R13"])
def test_images_that_cannot_be_run(host, site):
    refused(host, site, "image")


@check("refuses", proves=["R10", "R22"])
def test_the_others_run(host, site):
    containers = host.status()[1]
    assert all(containers[name]["state"] == "running" for name in RUNNING), containers
    assert set(containers) == set(site.first["containers"]), "not each declared container is named"
    assert host.ask(8001, "cat /word") == site.words["web"]


# ---- confined -------------------------------------------------------------------------------


@milestone("confined", weight=2, requires=["refuses"], proves=["R14"], title="No way out")
def test_no_user_is_one_of_the_host(host):
    maps = {port: ranges(host, port) for port in (8001, 8002, 8004, 8005)}
    taken: list[tuple[int, int]] = []
    for port, rows in maps.items():
        assert rows, f"behind {port} there is no map of users"
        for _, outside, length in rows:
            assert outside > 0, f"behind {port}, a user is root on the host: {rows}"
            clash = [one for one in taken if outside < one[1] and one[0] < outside + length]
            assert not clash, f"two containers share users of the host: {maps}"
        taken += [(row[1], row[1] + row[2]) for row in rows]


@check("confined", proves=["R14"])
def test_no_capabilities(host):
    for port in (8001, 8002):
        rows = host.ask(port, "cat /proc/1/status; cat /proc/self/status").splitlines()
        fields = [row.split() for row in rows if row.startswith(("Cap", "NoNewPrivs"))]
        assert len(fields) == 12, f"behind {port}: {fields}"
        for name, value in fields:
            wanted = "1" if name == "NoNewPrivs:" else "0" * 16
            assert value == wanted, f"behind {port}: {name} {value}"


@check("confined", proves=["R15"])
def test_only_volumes_and_tmp_can_be_written(host):
    script = (
        "for d in / /bin /etc /t /dev /proc/sys/kernel /sys /keep /tmp; do"
        " if (echo x >$d/bench.x) 2>/dev/null; then echo $d; rm $d/bench.x; fi; done"
    )
    found = {port: set(host.ask(port, script).split()) for port in (8001, 8002)}
    assert found[8001] - {"/dev"} == {"/keep", "/tmp"}, f"web can write in {found[8001]}"
    assert found[8002] - {"/dev"} == {"/tmp"}, f"layers can write in {found[8002]}"
    kind = host.ask(8002, "sed -n 's/^[^ ]* \\/tmp \\([a-z]*\\) .*/\\1/p' /proc/mounts")
    assert kind == "tmpfs", f"/tmp is {kind!r}"


@check("confined", proves=["R16"])
def test_no_processes_of_others(host):
    said = host.ask(8002, "cat /proc/[0-9]*/comm; echo; ls -d /proc/[0-9]*")
    comms = set(said.partition("\n\n")[0].split())
    # What `serve` and `ask` are made of.
    assert comms <= {"serve", "httpd", "ask", "sh", "cat", "ls", "busybox"}, f"it sees {comms}"


@check("confined", proves=["R16"])
def test_no_devices_and_nothing_of_the_host(host):
    nodes = host.ask(8002, "find /dev -type b -o -type c", seconds=60).split()
    odd = [n for n in nodes if n.removeprefix("/dev/") not in DEVICES
           and not n.startswith("/dev/pts/")]  # fmt: skip
    assert not odd, f"devices: {odd}"
    script = "find / -name host-release -o -name site.json -o -name vmlinuz 2>/dev/null; :"
    assert host.ask(8002, script, seconds=90, every=60) == "", "it sees files of the host"
    tries = (
        "mknod /tmp/sda b 254 0 && echo made; mount -t tmpfs x /tmp && echo mounted;"
        "mount -o remount,rw / && echo remounted; hostname other && echo named;"
        "echo 1 >/proc/sys/kernel/panic && echo set; echo b >/proc/sysrq-trigger && echo asked; :"
    )
    said = host.ask(8002, tries)
    done = [line for line in said.splitlines() if " " not in line.strip() and line.strip()]
    assert not done, f"as root in a container: {done}"


# ---- network --------------------------------------------------------------------------------


@milestone(
    "network", weight=2, requires=["confined"], proves=["R19"], title="Ways that are declared"
)
def test_reach(host, nonce):
    word = nonce()
    host.ask(8001, "cat /word")
    said = host.ask_behind(8001, 9000, f"hostname; id -u; echo {word} | sha256sum | cut -c 1-64")
    wanted = ["ledger", "1234", hashlib.sha256(f"{word}\n".encode()).hexdigest()]
    assert (said or "").split() == wanted, f"web reaches, at 9000, {said!r}"


@check("network", proves=["R18"])
def test_nothing_else_answers(host):
    declared = (8001, 8002, 8004, 8005)
    heard = [port for port in PORTS if port not in declared and not host.silent(port)]
    assert not heard, f"these ports of the host answer: {heard}"


@check("network", proves=["R19"])
def test_containers_reach_nothing_else(host):
    addresses = {"10.0.2.15", "10.0.2.2"}
    script = "ip -4 addr; ip -4 route"
    for said in (host.say(script), host.ask(8001, script), host.ask(8002, script)):
        addresses |= set(re.findall(r"\b\d{1,3}(?:\.\d{1,3}){3}\b", said)[:24])
    addresses -= {a for a in addresses if a.startswith("127.") or a.endswith((".255", ".0"))}
    places = [f"{a} {port}" for a in sorted(addresses)[:12] for port in (8001, 8002, PORT)]
    places += ["127.0.0.1 8001", "127.0.0.1 8002", "127.0.0.1 9000"]
    control = f"127.0.0.1 {PORT}"
    own = set(re.findall(r"inet (\S+?)/", host.ask(8002, "ip -4 addr")))
    for place in range(0, len(places), 6):
        part = " ".join(f"'{one}'" for one in [control, *places[place : place + 6]])
        said = host.ask(8002, KNOCK.replace("PLACES", part), 120, 60).splitlines()
        assert control in said, f"it does not reach itself: {said}"
        odd = [one for one in places if one in said and one not in (f"{a} {PORT}" for a in own)]
        assert not odd, f"a container reaches {odd}"


# ---- limits ---------------------------------------------------------------------------------


@milestone("limits", weight=2, requires=["network"], proves=["R20"], title="Limits hold")
def test_the_eater_of_memory(host, shared, nonce):
    word = nonce()
    host.ask(8001, f"echo {word} >/tmp/mark")
    said = host.ask(8004, "dd if=/dev/zero of=/dev/null bs=8M count=1 2>&1; echo ok")
    assert "ok" in said, f"8 MiB of 24 are refused: {said!r}"
    host.ask(8004, f"echo {word} >/tmp/mark")
    said = host.ask_once(8004, "dd if=/dev/zero of=/dev/null bs=60M count=1 && echo ate")
    assert said is None, f"it took 60 MiB of 24 and lived: {said!r}"
    one = host.comes_to("eater", 60, state="running", restarts=1)
    assert (one["oom_kills"], one["exit"]) == (1, 137), f"the eater: {one}"
    assert host.ask(8004, "cat /tmp/mark; :").strip() != word, "it was not killed as a whole"
    shared["mark"] = word


@check("limits", proves=["R20", "R15"])
def test_tmp_is_memory(host):
    said = host.ask_once(8004, "dd if=/dev/zero of=/tmp/x bs=1M count=40 && echo wrote", 40)
    assert said is None or "wrote" not in said.split(), "40 MiB lie in the /tmp of 24 MiB"
    host.comes_to("eater", 60, state="running")
    host.ask(8004, "rm -f /tmp/x; echo ok")


@check("limits", proves=["R21"])
def test_processes(host):
    said = host.ask_once(8004, FORKS, 60)
    assert said is not None, "the container does not answer when it has no more processes"
    counts = [int(number) for number in re.findall(r"count (\d+)", said)]
    assert counts and 8 <= counts[0] <= 20, f"20 processes are declared: {said[-400:]!r}"


@check("limits", proves=["R21"])
def test_processor(host):
    script = (
        "(while :; do :; done) & p=$!; sleep 1; read -r a x </proc/uptime;"
        " set -- $(cat /proc/$p/stat);"
        " b=$((${14}+${15})); sleep 10; set -- $(cat /proc/$p/stat); c=$((${14}+${15}));"
        " read -r d x </proc/uptime; kill -9 $p; echo $a $d $b $c"
    )
    said = host.ask_once(8004, script, 60)
    assert said is not None, "the container did not answer"
    began, ended, before, after = (float(word) for word in said.split()[-4:])
    used = (after - before) / (ended - began)
    assert used <= 26, f"of 20 percent of the processor it took {used:.0f}"
    assert used >= 8, f"of 20 percent of the processor it got {used:.0f}"


@check("limits", proves=["R22", "R20"])
def test_the_others_were_not_disturbed(host, shared):
    assert host.ask(8001, "cat /tmp/mark") == shared["mark"], "web was started anew"
    containers = host.status()[1]
    for name in ("web", "layers", "ledger", "flood"):
        one = containers[name]
        found = (one["state"], one["restarts"], one["oom_kills"])
        assert found == ("running", 0, 0), f"{name}: {one}"


# ---- restarts -------------------------------------------------------------------------------


@milestone("restarts", weight=2, requires=["limits"], proves=["R23"], title="Started again, or not")
def test_policies(host):
    few = host.comes_to("few", state="failed")
    assert (few["restarts"], few["exit"]) == (2, 3), f"on-failure, at most 2: {few}"
    assert len(starts(host, "few")) == 3, f"it should have run three times: {starts(host, 'few')}"
    once = host.comes_to("once", state="exited")
    assert (once["restarts"], once["exit"]) == (0, 7), f"never: {once}"
    done = host.comes_to("done", state="exited")
    assert (done["restarts"], done["exit"]) == (0, 0), f"on-failure that ends well: {done}"
    always = host.container("always")
    assert always["exit"] == 0 and always["restarts"] >= 3, f"always: {always}"


@check("restarts", proves=["R24"])
def test_pauses_grow(host):
    deadline = host.machine.deadline(90)
    while len(times := starts(host, "always")) < 6:
        assert deadline.remaining() > 0, f"always was started at {times}"
        time.sleep(2)
    gaps = [two - one for one, two in pairwise(times[:6])]
    # A start takes its time, on a slow host more of it.
    room = 12 / min(1.0, host.machine.host.speed)
    for gap, due in zip(gaps, (1, 2, 4, 8, 16), strict=True):
        assert due * 0.95 <= gap <= due + room, f"pauses of 1, 2, 4, 8, 16 are due: {gaps}"


# ---- logs -----------------------------------------------------------------------------------


@milestone("logs", weight=1, requires=["restarts"], proves=["R25"], title="What they say")
def test_logs(host, site):
    assert host.logs("once") == site.words["args"], "not what the container said"
    assert f"said {site.words['args']}" in host.logs("web")


@check("logs", proves=["R25", "R22"])
def test_a_flood(host, site):
    before = int(host.say("df -k /data | awk 'NR==2{print $3}'; :") or 0)
    host.ask(8005, "touch /tmp/go")
    deadline = host.machine.deadline(120)
    while host.ask(8005, "ls /tmp/gone 2>/dev/null; :", 60) != "/tmp/gone":
        assert deadline.remaining() > 0, "who writes much is stopped by it"
        time.sleep(1)
    time.sleep(1)
    host.say("hostctl logs flood >/tmp/flood", 120)
    size, same, last = host.say(
        f"wc -c </tmp/flood; grep -c '^{site.words['flood']}$' /tmp/flood; tail -n 1 /tmp/flood"
    ).splitlines()[:3]
    assert 64 << 10 <= int(size) <= 1 << 20, f"hostctl logs prints {size} bytes"
    assert int(same) > 2000 and last == "end of flood", f"its end is missing: {same}, {last!r}"
    after = int(host.say("df -k /data | awk 'NR==2{print $3}'; rm /tmp/flood") or 0)
    assert after - before < 6144, f"/data has grown by {after - before} KiB"
    assert host.container("web")["restarts"] == 0


# ---- applies --------------------------------------------------------------------------------


@milestone(
    "applies", weight=2, requires=["logs"], proves=["R26", "R9"], title="Another declaration"
)
def test_what_is_malformed_changes_nothing(host, site, shared, nonce):
    before = host.status()[1]["web"]
    names = [name for name in site.others() if name.startswith("bad-")]
    said = {name: host.code(f"hostctl apply /carrier/{name}") for name in names}
    assert set(said.values()) == {1}, f"1 is due for each: {said}"
    assert host.code("hostctl apply /carrier/no-such-file") != 0
    assert host.status()[1]["web"] == before
    shared["word"] = nonce()
    for port in (8001, 8004):
        host.ask(port, f"echo {shared['word']} >/keep/word; echo {shared['word']} >/tmp/mark; sync")
    host.ask_behind(8001, 9000, f"echo {shared['word']} >/keep/word; sync")


@check("applies", proves=["R26", "R10"])
def test_another_declaration(host, site, metric):
    began = host.machine.elapsed
    assert host.code("hostctl apply /carrier/next", 120) == 0, "a good declaration was refused"
    metric("apply_seconds", host.machine.elapsed - began)
    containers = host.status()[1]
    wanted = {"web": "running", "flood": "running", "eater": "running", "fresh": "running",
              "wrong": "refused"}  # fmt: skip
    found = {name: one["state"] for name, one in containers.items()}
    assert found == wanted, f"in force: {found}"
    assert host.ask(8006, "cat /word") == site.words["web"], "the new container does not answer"
    assert host.silent(8002), "a port of a container that is gone still answers"


@check("applies", proves=["R26", "R19"])
def test_what_stayed_and_what_changed(host, shared):
    assert host.ask(8001, "cat /tmp/mark") == shared["word"], "web was started anew"
    assert host.container("web")["restarts"] == 0
    assert host.ask(8004, "cat /tmp/mark /keep/word 2>/dev/null; :") == shared["word"], (
        "eater should be new, with its old volume"
    )
    assert host.container("eater")["restarts"] == 0, "its count goes on"
    said = host.ask_once(8004, "dd if=/dev/zero of=/dev/null bs=26M count=1 2>/dev/null; echo ok")
    assert said == "ok", f"its new memory does not hold: {said!r}"
    assert host.ask_behind(8001, 9000, "echo there") is None, "web still reaches who is gone"


@check("applies", proves=["R27"])
def test_the_signal(host):
    assert host.ask(8004, "cat /keep/ends") == "QUIT", (
        "eater was not asked to end by its StopSignal"
    )


@check("applies", proves=["R29", "R27"])
def test_volumes_of_who_was_gone(host, shared):
    began = time.monotonic()
    assert host.code("hostctl apply /carrier/site.json", 240) == 0
    assert time.monotonic() > began
    host.settled(RUNNING)
    said = host.ask_behind(8001, 9000, "cat /keep/word 2>/dev/null; wc -l </keep/starts")
    assert (said or "").split() == ["1"], f"ledger's volume should be new: {said!r}"
    assert host.ask(8001, "cat /tmp/mark") == shared["word"], "web was started anew"


# ---- keeps ----------------------------------------------------------------------------------


@milestone("keeps", weight=2, requires=["applies"], proves=["R28", "R33"], title="What is kept")
def test_a_power_cut(host, site, shared, nonce):
    shared["kept"] = nonce()
    for port in (8001, 8004):
        host.ask(port, f"echo {shared['kept']} >/keep/cut; sync")
    host.ask_behind(8001, 9000, f"echo {shared['kept']} >/keep/cut; sync")
    host.machine.power_cut()
    host.start()
    host.settled(RUNNING)
    for port in (8001, 8004):
        said = host.ask(port, "cat /keep/cut /keep/word; ls /tmp/mark 2>/dev/null; :").split()
        assert said == [shared["kept"], shared["word"]], f"behind {port} is kept {said}"
    said = host.ask_behind(8001, 9000, "cat /keep/cut; id -u >/keep/mine && echo mine")
    assert (said or "").split() == [shared["kept"], "mine"], f"ledger keeps {said!r}"


@check("keeps", proves=["R2", "R5"])
def test_the_slots_are_as_they_were(host, disk, layout):
    now = host.slots(layout)
    wrong = [slot for slot in "ab" if now[slot] != layout.digest(disk.path, slot)]
    assert not wrong, f"these slots were written: {wrong}"


@check("keeps", proves=["R6", "R28", "R27"])
def test_a_start_without_a_carrier(host, machines, shared, work):
    host.power_off()
    alone = Host(on_bench(machines, "alone", host.machine.flatten(), None))
    alone.start()
    found = alone.status()
    assert (found[0]["carrier"], found[1]) == ("absent", {}), f"without a carrier: {found}"
    alone.power_off()
    shared["disk"] = alone.machine.flatten()


@check("keeps", proves=["R29", "R9", "R10"])
def test_another_carrier(later, shared):
    later.start()
    later.settled(["web"])
    containers = later.status()[1]
    assert set(containers) == {"web", "eater"}, f"declared are web and eater: {set(containers)}"
    assert containers["eater"]["reason"] == "entry", f"eater: {containers['eater']}"
    assert later.ask(8001, "cat /keep/cut") == shared["kept"], "web's volume is not kept"
    assert later.ask(8001, "tail -n 1 /keep/ends") == "TERM", "poweroff did not ask it to end"
    assert later.code("hostctl apply /carrier/mended", 120) == 0
    later.settled(["web", "eater", "ledger"])
    said = later.ask(8004, "cat /keep/cut")
    assert said == shared["kept"], "the volume of who was only written wrongly is not kept"
    said = later.ask_behind(8001, 9000, "ls /keep")
    assert (said or "").split() == ["starts"], f"the volume of who was gone is kept: {said!r}"


# ---- updates --------------------------------------------------------------------------------


@milestone("updates", weight=2, requires=["keeps"], proves=["R30"], title="Another version")
def test_false_bundles(later, media, layout, shared):
    before = (later.slots(layout), later.status()[0])
    said = {name: later.code(f"hostctl update {media.path(name)}", 120) for name in media.statuses}
    wrong = {name: code for name, code in said.items() if code != media.statuses[name]}
    assert not wrong, f"other statuses than [R30]'s: {wrong}"
    assert later.code("hostctl update /carrier/no-such-file") == 1
    assert (later.slots(layout), later.status()[0]) == before, "a false bundle changed something"
    assert later.status()[0]["other"] == "none", later.status()[0]


@check("updates", proves=["R30", "R22"])
def test_it_is_installed(later, media, layout, vendor, shared, nonce):
    word = nonce()
    later.ask(8001, f"echo {word} >/tmp/mark")
    good = media.releases["good"]
    assert later.code(f"hostctl update {media.path('good')}", 120) == 0, "a good bundle was refused"
    found = later.status()[0]
    assert (found["version"], found["other"], found["other_version"]) == (
        1,
        "ready",
        good.version,
    ), found
    assert later.slots(layout) == {"a": vendor.release1.digest, "b": good.digest}, "the slots"
    assert later.ask(8001, "cat /tmp/mark") == word, "an update stopped a container"


@check("updates", proves=["R31", "R3", "R33"])
def test_the_next_start_runs_it(later, media, layout, vendor, shared):
    later.machine.reboot(timeout=60)
    later.await_word(media.words["good"], 90)
    later.login()
    good = media.releases["good"]
    runs(later, good, "b", other="good", other_version=1)
    keeps(later, shared)
    assert later.slots(layout) == {"a": vendor.release1.digest, "b": good.digest}, "the slots"


# ---- falls-back -----------------------------------------------------------------------------


@milestone("falls-back", weight=3, requires=["updates"], proves=["R32"], title="And back")
def test_rollback(later, media, vendor, shared):
    assert later.code("hostctl rollback") == 0
    later.restart()
    runs(later, vendor.release1, "a", other="good", other_version=media.releases["good"].version)
    keeps(later, shared)


@check("falls-back", proves=["R33", "R30"])
def test_the_power_goes_while_it_is_written(later, media, layout, vendor):
    later.machine.send(f"hostctl update {media.path('dead')}\n")
    time.sleep(secrets.randbelow(1000) / 1000 + 0.5)
    later.machine.power_cut()
    later.start()
    found = later.status()[0]
    assert found["version"] in (1, media.releases["good"].version), f"after a power cut: {found}"
    assert later.slots(layout)["a"] == vendor.release1.digest, "the slot that ran was written"


@check("falls-back", proves=["R31", "R33"])
def test_versions_that_do_not_come_up(later, media, vendor, layout, shared):
    for name in ("dead", "ill"):
        release = media.releases[name]
        assert later.code(f"hostctl update {media.path(name)}", 120) == 0, f"{name} was refused"
        later.machine.reboot(timeout=60)
        for _ in range(2):
            later.await_word(media.words[name], 120)
        later.login(120)
        runs(later, vendor.release1, "a", other="failed", other_version=release.version)
        assert later.slots(layout) == {"a": vendor.release1.digest, "b": release.digest}, (
            "the slots"
        )
    keeps(later, shared)


@check("falls-back", proves=["R32"])
def test_no_way_back_to_what_failed(later):
    assert later.code("hostctl rollback") == 6, "a version that failed was taken back"
