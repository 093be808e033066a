"""What every station is asked, whatever else was ordered."""

from __future__ import annotations

import secrets

import forms
import versions
from bench import Bench
from forms import Entry
from ordered import AXES, STATUS, WORD, has, verb

_MODES = (0o644, 0o600, 0o755, 0o4755, 0o2750)


# -- answers ----------------------------------------------------------------------------------


def wrong_calls(bench: Bench) -> None:
    for line in ("", "frobnicate", verb("install"), f"{verb('list')} x", verb("files")):
        status, _, wrong = bench.station.run(f"{WORD} {line}")
        assert status == STATUS["usage"], f"{WORD} {line} ended with {status}"
        assert wrong.strip(), f"{WORD} {line} said nothing on standard error"


def a_new_station(bench: Bench) -> None:
    bench.do("list")
    bench.same("nothing yet")


# -- trusts -----------------------------------------------------------------------------------


def an_index_is_taken(bench: Bench) -> None:
    bench.refresh(bench.package("early"))


def another_key(bench: Bench) -> None:
    bench.repositories.offer(bench.package("stranger"))
    bench.repositories.publish(secrets.token_bytes(32))
    bench.refused("distrusted", "update", what="an index signed with another key")
    bench.refused("impossible", "install", "stranger")


def another_index(bench: Bench) -> None:
    """Signed well, and then changed."""
    repositories = bench.repositories
    bench.publish()
    name = AXES["index_name"] + (".gz" if has("packed-index") else "")
    path = f"/{repositories.folders[0]}/{name}"
    early = bench.package("early")
    rows = [forms.row_of(early.but(version="9"), b"other")]
    text = forms.index(rows, repositories.serial)
    forged = forms.signed(text, secrets.token_bytes(32))["index"]
    if AXES["signature"] == "inline":
        real = forms.signed(forms.index([forms.row_of(early, b"")], 1), repositories.seed)["index"]
        data = forms.gzip.decompress(real) if has("packed-index") else real
        forged = text + data[data.rindex(b"signed ") :]
        forged = forms.gzip.compress(forged, mtime=0) if has("packed-index") else forged
    repositories.files[path] = forged
    bench.refused("distrusted", "update", what="an index that its signature does not fit")


def no_signature(bench: Bench) -> None:
    repositories = bench.repositories
    bench.publish()
    text = forms.index([], repositories.serial)
    name = AXES["index_name"]
    folder = repositories.folders[0]
    if AXES["signature"] == "inline":
        data = forms.gzip.compress(text, mtime=0) if has("packed-index") else text
        repositories.files[f"/{folder}/{name}{'.gz' if has('packed-index') else ''}"] = data
    else:
        repositories.files[f"/{folder}/{name}.sig"] = b""
    bench.refused("distrusted", "update", what="an index without a signature")


def no_index(bench: Bench) -> None:
    held, bench.repositories.files = bench.repositories.files, {}
    bench.refused("unreachable", "update", what="a repository without an index")
    bench.repositories.files = held


# -- installs ---------------------------------------------------------------------------------


def one_package(bench: Bench) -> None:
    one = bench.package(bench.word("reed")).link("opt/by-name", "nowhere at all")
    one.file(f"srv/{one.name}/empty", b"").file(f"srv/{one.name}/more", secrets.token_bytes(9000))
    bench.refresh(one)
    bench.do("install", one.name)


def what_is_there_stays(bench: Bench) -> None:
    one, other = bench.package(bench.word("sedge")), bench.package(bench.word("rush"))
    bench.refresh(one)
    bench.do("install", one.name)
    bench.refresh(bench.package(one.name, "2"), other)
    bench.do("install", one.name, other.name)


def what_is_not_there(bench: Bench) -> None:
    bench.do("install", bench.word("nothing"))


# -- resolves ---------------------------------------------------------------------------------


def needs_of_needs(bench: Bench) -> None:
    names = [bench.word("step") for _ in range(4)]
    chain = [bench.package(n, needs=names[at + 1 : at + 2]) for at, n in enumerate(names)]
    bench.refresh(*chain, bench.package())
    bench.do("install", names[0])


def a_need_that_is_not_met(bench: Bench) -> None:
    base = bench.package(bench.word("half"), needs=[bench.word("missing")])
    good = bench.package(bench.word("good"))
    bench.refresh(base, good)
    bench.do("install", good.name, base.name)


# -- refuses ----------------------------------------------------------------------------------


def exchanged(bench: Bench) -> None:
    """The index is right, and a package's file is another."""
    one = bench.package(bench.word("cuckoo"))
    bench.refresh(one)
    data = one.pack()
    other = one.but(entries={}).file(f"opt/{one.name}/data", bench.text()).pack()
    flipped = bytearray(data)
    flipped[bench.draw.randrange(len(data) // 2)] ^= 1 << bench.draw.randrange(8)
    for what, wrong in (("another package", other), ("a bit that is another", bytes(flipped))):
        bench.repositories.exchange(one, wrong)
        bench.refused("damaged", "install", one.name, what=what)


def not_what_the_index_says(bench: Bench) -> None:
    """Its size and sum are the index's, and it says something else of itself."""
    other, there = bench.word("lark"), bench.package(bench.word("wren"))
    bench.refresh(there)
    one = bench.package(bench.word("finch"), "1.1")
    for what, inside in (
        ("another name", one.but(name=other)), ("another version", one.but(version="1.2")),
        ("more needs", one.but(needs=[there.name])),
    ):  # fmt: skip
        bench.repositories.offer(one, data=inside.pack())
        bench.publish()
        bench.do("update")
        bench.refused("damaged", "install", one.name, what=what)


def paths_that_climb(bench: Bench) -> None:
    one = bench.package(bench.word("goat"))
    for path in ("opt/../srv/rogue", "../rogue", "opt//rogue"):
        wrong = one.but()
        wrong.entries[path] = Entry("f", data=b"rogue\n")
        bench.repositories.offer(one, data=wrong.pack())
        bench.publish()
        bench.do("update")
        bench.refused("damaged", "install", one.name, what=f"the path {path}")


# -- fetches ----------------------------------------------------------------------------------


def only_what_is_installed(bench: Bench) -> None:
    base, more = bench.package(bench.word("base")), bench.package(bench.word("more"))
    top = bench.package(bench.word("top"), needs=[base.name])
    bench.refresh(base, more, top)
    bench.do("install", base.name)
    bench.repositories.asked.clear()
    bench.do("install", top.name)
    assert bench.repositories.fetched(top), "the package was not fetched from the repository"
    for one in (base, more):
        assert not bench.repositories.fetched(one), f"{one.name} was fetched, and is not installed"


def a_fetch_that_ends_early(bench: Bench) -> None:
    one = bench.package(bench.word("torn")).file("srv/torn", secrets.token_bytes(3000))
    bench.refresh(one)
    bench.repositories.cut = {bench.repositories.path_of(one): 700}
    bench.refused("unreachable", "install", one.name, what="the line ends after 700 bytes")
    bench.repositories.calm()
    bench.do("install", one.name)


def a_file_that_is_not_there(bench: Bench) -> None:
    one, other = bench.package(bench.word("gone")), bench.package(bench.word("here"))
    bench.refresh(one, other)
    bench.repositories.files.pop(bench.repositories.path_of(one))
    bench.refused("unreachable", "install", one.name, what="a file is not there")
    bench.do("install", other.name)


# -- upgrades ---------------------------------------------------------------------------------


def to_later_versions(bench: Bench) -> None:
    older, later = versions.trap(bench.draw)
    one, other = bench.word("tern"), bench.word("gull")
    first = bench.package(one, older).file(f"srv/{one}/gone", bench.text())
    bench.refresh(first, bench.package(other, later))
    bench.do("install", one, other)
    second = bench.package(one, later).file(f"srv/{one}-new/there", bench.text(), 0o755)
    bench.refresh(second, bench.package(other, older))
    bench.do("upgrade")


def with_new_needs(bench: Bench) -> None:
    one, need = bench.word("heron"), bench.package(bench.word("perch"))
    first, second, third = versions.rising(bench.draw, 3)
    bench.refresh(bench.package(one, first), need)
    bench.do("install", one)
    bench.refresh(bench.package(one, second, needs=[need.name]))
    bench.do("upgrade")
    bench.refresh(bench.package(one, third, needs=[bench.word("missing")]))
    bench.do("upgrade")
    bench.repositories.withdraw(one)
    bench.refresh()


# -- removes ----------------------------------------------------------------------------------


def with_its_folders(bench: Bench) -> None:
    one, other = bench.package(bench.word("moss")), bench.package(bench.word("fern"))
    for each in (one, other):
        each.file(f"srv/common/deep/{each.name}", bench.text()).folder(f"srv/common/{each.name}.d")
    bench.refresh(one, other)
    bench.do("install", one.name, other.name)
    bench.folder(f"/srv/common/{one.name}.d/mine")
    bench.edit(f"/srv/common/{one.name}.d/mine/note", bench.text())
    bench.do("remove", one.name)
    bench.do("remove", one.name)
    bench.do("remove", other.name)


def what_is_needed_stays(bench: Bench) -> None:
    base = bench.package(bench.word("root"))
    top = bench.package(bench.word("leaf"), needs=[base.name])
    bench.refresh(base, top)
    bench.do("install", top.name)
    bench.do("remove", base.name)
    bench.do("remove", base.name, top.name)


# -- tells ------------------------------------------------------------------------------------


def lists_and_files(bench: Bench) -> None:
    one = bench.package(bench.word("zeal")).link("opt/zeal-link", "/opt")
    one.file(f"opt/{one.name}/B.x", "b").file(f"opt/{one.name}/a", "a").folder("opt/only-a-folder")
    one.file(f"opt/{one.name}/b_x", "b")
    bench.refresh(one, bench.package(bench.word("aim")))
    bench.do("install", one.name)
    bench.do("list")
    bench.do("files", one.name)
    bench.do("files", bench.word("nobody"))


# -- settles ----------------------------------------------------------------------------------


def modes_and_owners(bench: Bench) -> None:
    one = bench.package(bench.word("seal"))
    for at, mode in enumerate(_MODES):
        one.file(f"opt/{one.name}/{at}", bench.text(), mode, uid=bench.draw.choice((0, 7, 4242)))
    one.folder(f"opt/{one.name}/closed", 0o700).folder(f"opt/{one.name}/open", 0o1777)
    one.link(f"opt/{one.name}/a-link", "/etc/passwd")
    bench.refresh(one)
    line = f"umask 077; cd /tmp; {WORD} {verb('install')} {one.name}"
    status, _, wrong = bench.station.run(line)
    assert status == 0, f"{line} ended with {status}: {wrong[-200:]!r}"
    bench.model.do("install", one.name)
    bench.same(line)


def folders_that_are_there(bench: Bench) -> None:
    one = bench.package(bench.word("silt")).folder("srv/ours", 0o700)
    bench.folder("/srv/ours")
    bench.refresh(one)
    bench.do("install", one.name)
    bench.do("remove", one.name)


# -- undoes -----------------------------------------------------------------------------------


def good_and_bad_together(bench: Bench) -> None:
    """One of several packages is damaged: none of them is installed."""
    bad = bench.package(bench.word("m-bad"))
    more = [bench.package(bench.word(f"{letter}-fine")) for letter in "az"]
    bench.refresh(bad, *more)
    wrong = bad.but(entries={}).file(f"opt/{bad.name}/data", bench.text()).pack()
    bench.repositories.exchange(bad, wrong)
    bench.refused("damaged", "install", more[0].name, bad.name, more[1].name)


def an_upgrade_of_several(bench: Bench) -> None:
    names = [bench.word(f"{letter}-set") for letter in "abc"]
    first, second = versions.rising(bench.draw, 2)
    bench.refresh(*(bench.package(name, first) for name in names))
    bench.do("install", *names)
    later = [bench.package(name, second) for name in names]
    bench.refresh(*later)
    held = bench.repositories.files.pop(bench.repositories.path_of(later[1]))
    bench.refused("unreachable", "upgrade", what="one of three cannot be fetched")
    bench.repositories.files[bench.repositories.path_of(later[1])] = held
    bench.do("upgrade")


# -- survives ---------------------------------------------------------------------------------


def a_restart(bench: Bench) -> None:
    one = bench.package(bench.word("stone"))
    bench.refresh(one)
    bench.do("install", one.name)
    bench.station.machine.reboot(timeout=120)
    bench.station.enter()
    bench.same("a restart in order")
    bench.do("remove", one.name)
