"""repair/dead-server: what the verifier knows of the server is what the environment builds."""

import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.catalogue.checkers import helpers

from benchflow.boot.inspect.ext4 import Ext4

TASK = Path(__file__).parents[2] / "tasks/repair/dead-server"
OWNER = TASK / "tests/owner"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The owner's data as the environment's own script makes them."""
    target = tmp_path_factory.mktemp("data")
    script = TASK / "environment/server/owner_data.py"
    subprocess.run([sys.executable, "-B", script, target], check=True)
    return target


def sums(name: str) -> dict[str, str]:
    rows = (line.split("  ") for line in (OWNER / name).read_text().splitlines())
    return {path: digest for digest, path in rows}


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", ["2023.journal", "2024.journal", "2025.journal", "live.journal"])
def test_the_verifier_knows_the_ledger_that_is_built(built: Path, name: str) -> None:
    assert (built / "ledger" / name).read_text() == (OWNER / name).read_text()


def test_the_verifier_knows_the_papers_that_are_built(built: Path) -> None:
    papers = built / "documents"
    found = {p.relative_to(papers).as_posix(): sha256(p) for p in papers.rglob("*.pdf")}
    assert found == sums("documents.sha256")


def test_the_verifier_knows_the_programs_that_are_packaged() -> None:
    package = TASK / "environment/server/tallyd"
    found = {path: sha256(package / path.lstrip("/")) for path in sums("programs.sha256")}
    assert found == sums("programs.sha256")


def checked(image: Path, start: int) -> str:
    """What a check of the volume does that repairs all it finds."""
    command = ["/sbin/e2fsck", "-fy", f"{image}?offset={start}"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@pytest.mark.needs("e2fsprogs", "time")
@pytest.mark.parametrize("sound", [True, False])
def test_a_check_at_the_start_changes_a_sound_volume_in_nothing(
    sound: bool, tmp_path: Path
) -> None:
    """Else the machine starts again, as it does not where nobody made the check due."""
    with helpers("repair/dead-server", "server", "atlas") as found:
        facts, atlas = found["server"], found["atlas"]
        folder = tmp_path / "tree" / "many"
        folder.mkdir(parents=True)
        for number in range(2000):
            (folder / f"a-file-with-a-long-name-{number}").touch()
        image = tmp_path / "image"
        for start, tree in (
            (facts.SYSTEM_START, folder.parent),
            (facts.DATA_START, tmp_path / "no"),
        ):
            tree.mkdir(exist_ok=True)
            options = ["-q", "-t", "ext4", "-b", "4096", "-d", tree, "-E", f"offset={start}"]
            with image.open("ab") as file:
                file.truncate(facts.DATA_START + (64 << 20))
            subprocess.run(["/sbin/mke2fs", *options, image, "40M"], check=True)
        if not sound:
            command = [
                "/sbin/debugfs",
                "-w",
                "-R",
                "clri /many",
                f"{image}?offset={facts.SYSTEM_START}",
            ]
            subprocess.run(command, check=True, capture_output=True)
        before = tmp_path / "before"
        before.write_bytes(image.read_bytes())
        assert "MODIFIED" in checked(before, facts.SYSTEM_START)
        atlas.mark_unchecked(image)
        assert ("MODIFIED" in checked(image, facts.SYSTEM_START)) is not sound


def test_hashes_keys_and_places_agree_between_builder_and_verifier() -> None:
    build = (TASK / "environment/server/build.sh").read_text()
    facts: dict[str, object] = {}
    source = (TASK / "tests/server.py").read_text()
    constants = source[source.index("INGRID, PIET") : source.index("PARTITIONS")]
    exec(constants, facts)  # the assignments alone: the module itself needs the verifier
    for name in ("INGRID_HASH", "PIET_HASH", "MACHINE_ID"):
        assert str(facts[name]) in build
    key = (TASK / "environment/server/files/ssh_host_ed25519_key.pub").read_text()
    assert key.split()[:2] == str(facts["HOST_KEY"]).split()
    places = re.findall(r"_start=(\d+) \w+_sectors=(\d+)", build)
    numbers = re.findall(r"\d: \((\d+), (\d+)\)", source)
    assert len(places) == 3 and places == numbers


# What the verifier makes of what it reads ---------------------------------------------------------

HELPERS = ("server", "known", "rights", "state", "ports", "doors")


@pytest.fixture(scope="module")
def read() -> Iterator[dict[str, ModuleType]]:
    with helpers("repair/dead-server", *HELPERS) as modules:
        yield modules


def volume(tmp_path: Path, **texts: str) -> Ext4:
    """A file system with these files below /etc."""
    tree = tmp_path / "tree"
    (tree / "etc").mkdir(parents=True)
    for name, text in texts.items():
        (tree / "etc" / name).write_text(text)
    image = tmp_path / "volume"
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", tree, image, "8M"], check=True)
    return Ext4(image)


def shadow(read: dict[str, ModuleType], **changed: str) -> str:
    facts = read["server"]
    rows = {
        "root": "*:20784:0:99999:7:::",
        "ingrid": f"{facts.INGRID_HASH}:20784:0:99999:7:::",
        "piet": f"{facts.PIET_HASH}:20784:0:99999:7:::",
        **changed,
    }
    return "".join(f"{name}:{row}\n" for name, row in rows.items())


HOST_KEY = TASK / "environment/server/files/ssh_host_ed25519_key"


@pytest.mark.needs("e2fsprogs", "openssh-client")
def test_only_copies_of_its_own_host_key_are_that_key(
    read: dict[str, ModuleType], tmp_path: Path
) -> None:
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other], check=True)
    texts = {"copy": HOST_KEY.read_text(), "other": other.read_text()}
    tree = tmp_path / "tree"
    for path, text in {"etc/ssh/ssh_host_ed25519_key": texts["copy"], **texts}.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    image, start = tmp_path / "disk", read["server"].SYSTEM_START
    call = ["mke2fs", "-q", "-t", "ext4", "-E", f"offset={start}", "-d", tree, image, "8M"]
    subprocess.run(call, check=True)
    system = Ext4(image, start)
    named = {
        entry.key: entry.path for entry in system.walk("/") if entry.path in ("/copy", "/other")
    }
    assert len(named) == 2
    assert [*read["rights"]._secrets(system, image, named)] == ["/copy (the SSH host key)"]


@pytest.mark.needs("e2fsprogs")
def test_passwords_as_they_were_are_no_finding(read: dict[str, ModuleType], tmp_path: Path) -> None:
    assert read["rights"].passwords(volume(tmp_path, shadow=shadow(read))) == []


@pytest.mark.needs("e2fsprogs")
@pytest.mark.parametrize(
    ("who", "row"),
    [
        ("root", ":20784:0:99999:7:::"),
        ("root", "$6$a$b:20784:0:99999:7:::"),
        ("ingrid", "!{hash}:20784:0:99999:7:::"),
        ("ingrid", "{hash}:20784:0:99999:7::20422:"),
        ("ingrid", "{hash}:0:0:99999:7:::"),
        ("ingrid", "{hash}:20784:0:30:7:::"),
        ("backup", ":20784::::::"),
    ],
)
def test_every_other_password_is_one(
    read: dict[str, ModuleType], tmp_path: Path, who: str, row: str
) -> None:
    row = row.replace("{hash}", read["server"].INGRID_HASH)
    system = volume(tmp_path, shadow=shadow(read, **{who: row}))
    assert len(read["rights"].passwords(system)) == 1


@pytest.mark.needs("e2fsprogs")
def test_accounts_may_have_other_drawn_numbers_and_nothing_else(
    read: dict[str, ModuleType], tmp_path: Path
) -> None:
    rows = [line.split() for line in read["known"].ACCOUNTS.splitlines()]
    text = "".join(
        f"{name}:x:{uid.replace('*', str(200 + n))}:{gid.replace('*', '300')}::{home}:{shell}\n"
        for n, (name, uid, gid, home, shell) in enumerate(rows)
    )
    accounts = read["rights"].accounts
    assert accounts(volume(tmp_path / "same", passwd=text)) == []
    second = text + "toor:x:0:0::/root:/bin/sh\n"
    assert len(accounts(volume(tmp_path / "second", passwd=second))) == 2
    asked = text.replace("root:x:0", "root::0")
    assert len(accounts(volume(tmp_path / "asked", passwd=asked))) == 1


def test_the_kernel_may_be_told_where_its_root_and_console_are(
    read: dict[str, ModuleType],
) -> None:
    words = read["rights"].kernel_words
    assert words("BOOT_IMAGE=/boot/vmlinuz root=LABEL=x ro console=ttyS0,115200 quiet") == []
    assert words("root=LABEL=x nosplash debug ipv6.disable=1 systemd.log_time=1 tsc=reliable") == []
    odd = "init=/bin/sh fsck.mode=skip systemd.debug_shell mitigations=off systemd.log_target=null"
    assert words(f"root=/dev/vda1 {odd}") == odd.split()


def ruleset(*matches: str, policy: str = "drop") -> str:
    chain = (
        f'{{"family": "inet", "table": "f", "name": "i", "hook": "input", "policy": "{policy}"}}'
    )
    rules = [
        f'{{"rule": {{"family": "inet", "table": "f", "chain": "i", '
        f'"expr": [{match}{{"accept": null}}]}}}}'
        for match in matches
    ]
    return f'{{"nftables": [{", ".join([f'{{"chain": {chain}}}', *rules])}]}}'


def match(left: str, right: str, op: str = "==") -> str:
    return f'{{"match": {{"op": "{op}", "left": {left}, "right": {right}}}}}, '


TCP = '{"payload": {"protocol": "tcp", "field": "dport"}}'
FROM = '{"payload": {"protocol": "ip", "field": "saddr"}}'
NAME = '{"meta": {"key": "iifname"}}'


@pytest.mark.parametrize(
    "rule",
    [
        match(TCP, '{"set": [22, 4710]}'),
        match(NAME, '"en*"') + match(TCP, "22"),
        match(NAME, '"lo"'),
        match('{"ct": {"key": "state"}}', '["established", "related"]', "in"),
        match('{"payload": {"protocol": "icmp", "field": "type"}}', '"echo-request"'),
    ],
)
def test_rules_that_let_in_what_may_come(read: dict[str, ModuleType], rule: str) -> None:
    assert read["ports"].gaps(ruleset(rule), {"tcp 22", "tcp 4710"}) == []


@pytest.mark.parametrize(
    ("rule", "more"),
    [
        (match(TCP, "8080"), "tcp 8080"),
        (match(TCP, '{"range": [1, 9098]}'), "tcp 1 to 9098"),
        (match(TCP, '{"set": [22, {"range": [80, 81]}]}'), "tcp 80 to 81"),
        (match(TCP, "22", "!="), "whatever fits"),
        (match(FROM, '"10.0.2.2"', "!="), "whatever fits"),
        (match(NAME, '"en*"'), "whatever fits"),
        (match(NAME, '"lo"', "!="), "whatever fits"),
        ("", "whatever fits"),
    ],
)
def test_rules_that_let_in_more(read: dict[str, ModuleType], rule: str, more: str) -> None:
    (found,) = read["ports"].gaps(ruleset(rule), {"tcp 22", "tcp 4710"})
    assert found.startswith(more)


def test_a_named_set_is_what_it_holds(read: dict[str, ModuleType]) -> None:
    held = '{"set": {"family": "inet", "table": "f", "name": "doors", "elem": [22, 8080]}}, '
    other = '{"set": {"family": "ip", "table": "g", "name": "doors", "elem": [22]}}, '
    rules = ruleset(match(TCP, '"@doors"')).replace("[", f"[{held}{other}", 1)
    assert read["ports"].gaps(rules, {"tcp 22"}) == ["tcp 8080"]


def test_a_firewall_is_gone_through_as_a_packet_goes(read: dict[str, ModuleType]) -> None:
    def gaps(*rules: str, policy: str = "drop", chain: str = "i") -> list[str]:
        more = [f'{{"chain": {{"family": "inet", "table": "f", "name": "{chain}"}}}}']
        more += [
            f'{{"rule": {{"family": "inet", "table": "f", "chain": "{chain}", "expr": [{rule}]}}}}'
            for rule in rules
        ]
        text = ruleset(policy=policy).removesuffix("]}")
        return list(read["ports"].gaps(f"{text}, {', '.join(more)}]}}", {"tcp 22"}))

    state, accept = '{"ct": {"key": "state"}}', '{"accept": null}'
    verdicts = f'{{"set": [["established", {accept}], ["invalid", {{"drop": null}}]]}}'
    assert gaps(f'{{"vmap": {{"key": {state}, "data": {verdicts}}}}}') == []
    assert gaps(match(state, '{"set": ["new", "established"]}') + accept) != []
    senders = f'{{"set": [[{{"range": ["0.0.0.0", "10.0.2.1"]}}, {accept}]]}}'
    assert gaps(f'{{"vmap": {{"key": {FROM}, "data": {senders}}}}}') != []
    assert gaps('{"redirect": {"port": 22}}') != []
    assert gaps('{"drop": null}', policy="accept") == []
    assert gaps('{"drop": null}', policy="accept", chain="unused") != []
    assert gaps('{"limit": {"rate": 1}}, {"drop": null}', policy="accept") != []
    sent_back = match(FROM, '"10.0.2.2"', "!=") + '{"return": null}'
    assert gaps(sent_back, '{"drop": null}', policy="accept") != []


def test_a_terminal_needs_a_password(read: dict[str, ModuleType]) -> None:
    said = "terminal=tty1 root agetty /sbin/agetty -o -p -- \\u --noclear - linux\n"
    assert read["state"].State(said).terminals == []
    for option in ("--autologin root", "-a root", "-n -l /bin/sh"):
        opened = said.replace("--noclear", option)
        assert len(read["state"].State(opened).terminals) == 1


@pytest.mark.parametrize(
    ("line", "door", "opens"),
    [
        ("Description=Wait for a login", False, False),
        ("ExecStart=-/sbin/agetty --autologin root tty5", False, True),
        ("-/sbin/agetty -a root tty3", False, True),
        ("StandardInput = tty", False, True),
        ('ExecStart=-/sbin/agetty -o "-p -- \\\\u" 115200 %I $TERM', True, False),
        ("ExecStart=-/sbin/agetty -a ingrid 115200 %I $TERM", True, True),
        ("Restart=always", True, False),
    ],
)
def test_lines_of_units_that_let_people_in(
    read: dict[str, ModuleType], line: str, door: bool, opens: bool
) -> None:
    assert read["doors"]._lets_in(line, door) is opens


def test_a_firewall_that_drops_nothing(read: dict[str, ModuleType]) -> None:
    (found,) = read["ports"].gaps(ruleset(policy="accept"), set())
    assert found.startswith("whatever no rule names")


START = """\
swap=Filename /dev/vda2
swapdevice=/dev/vda2
opened=[   30.000001] atlas tallyd[1]: tallyd: serving 3540 records
socket=tcp 0.0.0.0:22
socket=tcp [::]:22
socket=tcp 127.0.0.1:25
socket=udp 10.0.2.15%ens3:68
terminal=tty1 root agetty
terminal=tty9 root sh
mount=/
mount=/mnt
unit=ledger-check ActiveState=active Type=oneshot ExecMainExitTimestampMonotonic={ended}
unit=tallyd ActiveState=active Type=simple ExecMainStartTimestampMonotonic=29000000
"""


def test_how_a_start_turned_out(read: dict[str, ModuleType]) -> None:
    state = read["state"].State(START.format(ended=28_000_000))
    assert state.read_first and state.swap_used
    assert state.sockets == {"tcp 22", "udp 68"}
    assert state.open_places == ["/mnt"]
    assert state.terminals == ["tty9 root sh"]
    assert state.ran == {"ledger-check", "tallyd"}
    late = read["state"].State(START.format(ended=31_000_000))
    assert late.differs(state) == ["the ledger read first: False, was True"]
