"""Lost power."""

from __future__ import annotations

import cases
import power
from form import Package

from benchflow.boot import Image

MOMENTS = 5


def power_goes_while_a_check_runs(station, repository, word, nonce) -> None:
    old, new = cases.family(word, nonce)
    repository.offer(*old)
    station.done("update")
    station.done(f"install {old[0].name} {old[1].name}")
    before = station.versions()
    station.note()
    look = station.say("sha256sum </run/bench/before")
    mark = f"{old[0].name}-power"
    repository.held = {f"/mark/{mark}"}
    new[1].check = cases.script(f"sync; wget -q -T 30 -O /dev/null {repository.mark(mark)}")
    repository.offer(*new)
    station.done("update")
    station.background("upgrade")
    station.awaits(lambda: repository.marked(mark), 60, "a check")
    station.cut()
    repository.release()
    station.start()
    assert station.say("sh /run/bench/look | sha256sum", 120) == look, "files of what was undone"
    assert station.versions() == before
    station.sound()


def power_goes_while_it_fetches(station, repository, shared) -> None:
    station.online()
    before = station.digest()
    wanted = [path for path in repository.files if path.endswith(".pkg")]
    repository.asked.clear()
    repository.held = {path for path in wanted if "glen" in path}
    station.background("upgrade")
    station.awaits(lambda: any("glen" in name for name in repository.fetched()), 60, "a package")
    station.cut()
    repository.release()
    station.start()
    assert station.digest() == before
    station.sound()


def power_goes_the_moment_after(station, repository, word, nonce) -> None:
    station.online()
    made = cases.package(word("rowan"), "1", nonce())
    repository.offer(made)
    station.done("update")
    station.done(f"install {made.name}")
    station.cut()
    station.start()
    assert station.holds(made) and station.versions()[made.name] == "1"
    station.done(f"remove {made.name}")
    station.cut()
    station.start()
    assert not station.holds(made) and made.name not in station.versions()
    station.sound()


def power_goes_at_any_moment_of_an_upgrade(
    station, repository, machines, deliverable, own, word, nonce, draw, shared
) -> None:
    station.online()
    parts = [cases.bumped(cases.bumped(own[name], ""), nonce()) for name in cases.OWN_PARTS]
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
    after = station.digest()
    assert after != before and station.ended() == 0
    shared["moments"] = len(moments)
    some = power.chosen(moments, MOMENTS, draw)
    for number, moment in enumerate(some):
        other = power.wake(machines, deliverable, station, moment, f"cut{number}")
        found = other.digest()
        assert found in (before, after), f"moment {number}: neither before nor after"
        assert moment is not some[-1] or found == after, "it was over, and is not there"
        other.sound()
        if number == len(some) // 2:
            other.online()
            other.done("update")
            other.done("upgrade")
            assert other.digest() == after
        other.machine.close()


def power_goes_at_any_moment_on_the_way_back(
    station, repository, machines, deliverable, draw, metric, shared
) -> None:
    before = station.digest()
    repository.asked.clear()
    moments = power.watch(station, "rollback")
    after = station.digest()
    assert after != before and station.ended() == 0
    metric("moments_seen", shared["moments"] + len(moments))
    for number, moment in enumerate(some := power.chosen(moments, 3, draw)):
        other = power.wake(machines, deliverable, station, moment, f"back{number}")
        found = other.digest()
        assert found in (before, after), f"moment {number}: neither before nor after"
        assert moment is not some[-1] or found == after, "it was over, and is not there"
        other.sound()
        other.machine.close()


def what_stands_on_the_disk_in_the_end(station, own) -> None:
    """The disk is read by us: a station that only says that it changed gains nothing."""
    versions = station.versions()
    station.power_off()
    disk = Image(station.machine.flatten()).ext4()
    assert disk.problems() == ""
    for name, (package, _) in station.repository.packages.items():
        if versions.get(name) != package.version:
            continue
        for path, entry in package.plain.items():
            if path in package.configs:
                continue
            found = disk.stat(f"/{path}", follow=False)
            assert (found.kind, found.uid, found.gid) == (entry.kind, entry.uid, entry.gid), path
            if entry.kind == "file":
                assert found.mode & 0o7777 == entry.mode, f"/{path} has mode {found.mode:o}"
                if name not in own:
                    assert disk.read(f"/{path}") == entry.data, f"/{path} is another"
