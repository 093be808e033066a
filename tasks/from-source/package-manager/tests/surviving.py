"""Lost power."""

from __future__ import annotations

import accounts
import cases
import power
import standing
from form import Package, index

from benchflow.boot import Image
from benchflow.boot.inspect.bounded_run import run_tool

MOMENTS = 5
STARTS = 4


def power_goes_while_a_check_runs(station, repository, wake, word, nonce, draw) -> None:
    old, new = cases.family(word, nonce)
    repository.offer(*old)
    station.done("update")
    station.done("upgrade")
    station.done(f"install {old[0].name} {old[1].name}")
    before = station.digest()
    mark = f"{old[0].name}-power"
    repository.held = {f"/mark/{mark}"}
    new[1].check = cases.script(f"sync; wget -q -T 30 -O /dev/null {repository.mark(mark)}")
    repository.offer(*new)
    station.done("update")
    station.background("upgrade")
    station.awaits(lambda: repository.marked(mark), 60, "a check of a package was to be run [R17]")
    station.cut()
    repository.let_go()
    moments = power.watch_start(station)
    assert station.digest() == before, (
        "the power went while a check ran, and after the start what is there is not what was "
        f"before the transaction, which has not happened [R31]; lade list: {station.versions()}"
    )
    station.sound()
    # It may go again while the station starts and takes back what was done.
    between = moments[1:-1]
    for number, moment in enumerate(draw.sample(between, min(STARTS, len(between)))):
        other = power.comes_back(wake, moment, f"start{number}")
        assert other.digest() == before, (
            "the power went while a check ran, and once more in the start after that; what is "
            f"there now is not what was before the transaction [R31]; list: {other.versions()}"
        )
        other.sound()
        other.machine.close()
    for moment in moments:
        moment.path.unlink()
    new[1].check = None
    repository.offer(*new)


def power_goes_while_it_fetches(station, repository, word, nonce) -> None:
    station.online()
    made = cases.package(word("sorb"), "1", nonce())
    repository.offer(made)
    station.done("update")
    before = station.digest()
    place = repository.place(made.file_name)
    repository.asked.clear()
    repository.held = {place}
    station.background(f"install {made.name}")
    station.awaits(lambda: place in repository.asked, 60, "a package was to be fetched [R9]")
    station.cut()
    repository.let_go()
    station.start()
    assert station.digest() == before, "the power went while a package was fetched [R31]"
    station.sound()


def power_goes_the_moment_after(station, repository, word, nonce) -> None:
    station.online()
    made = cases.package(word("rowan"), "1", nonce())
    repository.offer(made)
    station.done("update")
    station.cut()
    station.start()
    station.online()
    # The index that was taken is in force still.
    repository.put_index(index([], repository.serial - 1))
    station.ends("update", 11, "after the power went: older than one that was taken before [R32]")
    repository.publish()
    station.done(f"install {made.name}")
    station.cut()
    lies_on_the_disk(station, made)
    station.start()
    station.has_all(made)
    said = station.versions().get(made.name)
    assert said == "1", f"installed, then the power went; lade list has {made.name} {said} [R32]"
    station.done(f"remove {made.name}")
    station.cut()
    station.start()
    assert not station.holds(made) and made.name not in station.versions(), (
        f"{made.name} was removed, then the power went, and it is there again [R32]"
    )
    station.sound()


def lies_on_the_disk(station, package: Package) -> None:
    """What the power left of a package, read by us: nobody on the station is asked."""
    copy = station.machine.flatten()
    run_tool(["e2fsck", "-f", "-y", str(copy)])  # as the next start, it replays the journal
    disk = Image(copy).ext4()
    for path, entry in package.plain.items():
        assert disk.exists(f"/{path}", follow=False), (
            f"lade install ended with 0, the power went, and /{path} is not on the disk [R32]"
        )
        if entry.kind == "file":
            assert disk.read(f"/{path}") == entry.data, (
                f"lade install ended with 0, the power went, and /{path} has other content [R32]"
            )
    copy.unlink()


def power_goes_at_any_moment_of_an_upgrade(
    station, repository, wake, own, word, nonce, draw, shared
) -> None:
    station.online()
    installed = station.versions()
    now = {name: package for name, (package, _) in repository.packages.items()}
    parts = []
    for name in cases.OWN_PARTS:
        there = now[name] if now[name].version == installed[name] else own[name]
        parts.append(cases.bumped(there, nonce()))
    large = Package(word("yew"), "1")
    for number in range(60):
        large.file(f"opt/{large.name}/{number}", nonce() * draw.randrange(1, 300))
    repository.offer(large)
    station.done("update")
    station.done(f"install {large.name}")
    late = large.but(version="2", entries={})
    for path, entry in large.plain.items():
        late.file(path, nonce() * (len(entry.data) // 32))
    repository.offer(late, *parts)
    station.done("update")
    before = station.digest()
    repository.asked.clear()
    moments = power.watch(station, "upgrade")
    after, ended = station.digest(), station.ended()
    assert after != before and ended == 0, f"lade upgrade ended with {ended}, and changed nothing"
    # It is still our lade.conf [R21].
    station.done("update")
    shared["moments"] = len(moments)
    some = power.chosen(moments, MOMENTS, draw)
    for number, moment in enumerate(some):
        other = power.comes_back(wake, moment, f"cut{number}")
        found = other.digest()
        assert found in (before, after), (
            f"the power went in an upgrade (moment {number} of {MOMENTS}), and what is there is "
            f"neither the station before nor the one after [R31]; lade list: {other.versions()}"
        )
        assert moment is not some[-1] or found == after, (
            "the power went when lade had ended with 0, and nothing of it is there [R32]"
        )
        other.sound()
        if number == len(some) // 2:
            other.online()
            other.done("update")
            other.done("upgrade")
            assert other.digest() == after, (
                "lade upgrade after a lost power made another state [R33]"
            )
        other.machine.close()


def power_goes_at_any_moment_on_the_way_back(
    station, repository, wake, word, nonce, draw, metric, shared
) -> None:
    if "moments" not in shared:  # the upgrade that is taken back did not come about
        old, new = cases.family(word, nonce)
        repository.offer(*old)
        station.done("update")
        station.done(f"install {old[0].name} {old[1].name}")
        repository.offer(*new)
        station.done("update")
        station.done("upgrade")
    before = station.digest()
    repository.asked.clear()
    moments = power.watch(station, "rollback")
    after, ended = station.digest(), station.ended()
    assert after != before and ended == 0, f"lade rollback ended with {ended}, and changed nothing"
    metric("moments_seen", shared.get("moments", 0) + len(moments))
    for number, moment in enumerate(some := power.chosen(moments, 3, draw)):
        other = power.comes_back(wake, moment, f"back{number}")
        found = other.digest()
        assert found in (before, after), (
            f"the power went in a rollback (moment {number}), and what is there is neither the "
            f"station before nor the one after [R31]; lade list: {other.versions()}"
        )
        assert moment is not some[-1] or found == after, (
            "the power went when lade had ended with 0, and nothing of it is there [R32]"
        )
        other.sound()
        other.machine.close()


def what_stands_on_the_disk_in_the_end(station) -> None:
    """The disk is read by us: a station that only says that it changed gains nothing."""
    versions = station.versions()
    standing.nothing_listens(station)
    station.power_off()
    station.in_order()
    disk = Image(station.machine.flatten()).ext4()
    assert disk.problems() == "", f"e2fsck after poweroff [R2]: {disk.problems()[:300]}"
    accounts.only_root(disk)
    contents = {item.path: data for item, data in disk.contents("/")}
    looked_at = 0
    for name, (package, _) in station.repository.packages.items():
        if versions.get(name) != package.version:
            continue
        for path, entry in package.plain.items():
            if path in package.configs:
                continue
            looked_at += 1
            assert disk.exists(f"/{path}", follow=False), (
                f"/{path} of {name} is not on the disk [R12]"
            )
            found = disk.stat(f"/{path}", follow=False)
            here, told = (found.kind, found.uid, found.gid), (entry.kind, entry.uid, entry.gid)
            assert here == told, f"/{path} is {here}, and {name} says {told} [R12]"
            if entry.kind == "file":
                assert found.mode & 0o7777 == entry.mode, f"/{path} has mode {found.mode:o} [R12]"
                assert contents.get(f"/{path}") == entry.data, f"/{path} has other content [R12]"
    assert looked_at > 20, f"of what lade list says {looked_at} files are in our packages [R25]"
