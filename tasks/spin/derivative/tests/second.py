"""A 2.0, asked what a new station was asked: what it calls itself, where its packages come from,
whom it believes."""

from __future__ import annotations

from debs import Deb
from publisher import Publisher
from station import Station


def name_stays(station: Station, package: str, wanted: str) -> None:
    """Packages that bring Debian's /usr/lib/os-release come and go."""
    deb = Deb(
        package, "1", {"/usr/lib/os-release": "ID=debian\n"}, fields={"Replaces": "base-files"}
    )
    station.machine.shell.write_file("/tmp/more.deb", deb.pack(), 120)
    station.run("dpkg -i /tmp/more.deb", 120)
    station.is_called(wanted, "with another /usr/lib/os-release")
    station.run(f"dpkg --purge {package}; rm /tmp/more.deb", 120)
    station.is_called(wanted, "and when that is gone again")


def changed_package_is_refused(
    station: Station, publisher: Publisher, suite: str, name: str, texts: tuple[str, str]
) -> None:
    """A package with the first of `texts` is in the index, and one with the second in its place."""
    good, bad = texts
    deb = Deb(name, "1.0", {f"/usr/share/{name}": good})
    publisher.offer(suite, deb)
    publisher.publish_all(suite, "bookworm")
    place = f"pool/bench/{deb.file_name}"
    publisher.serve(suite, place, Deb(name, "1.0", {f"/usr/share/{name}": bad}).pack())
    station.update("an archive that is in order again [R17]")
    assert station.apt(f"install {name}") != 0 and station.version(name) is None, (
        "a package was installed that has not the SHA-256 of the index [R14]"
    )
    publisher.serve(suite, place, deb.pack())
    assert station.apt(f"install {name}") == 0, "the right package is not taken any more [R17]"
    assert station.say(f"cat /usr/share/{name}") == good, "it has another content [R14]"


def mirrors_hold(station: Station, publisher: Publisher, name: str) -> None:
    """Both lines are changed to another server: what only that one has can be had at once."""
    other = publisher.copy()
    try:
        other.offer("bris", Deb(name, "1", fields={"Depends": f"{name}-base"}))
        other.offer("bookworm", Deb(f"{name}-base", "1"))
        other.publish_all("bris", "bookworm")
        station.look_to(other)
        station.update("on a 2.0, with other lines in /etc/holm/mirrors [R9]")
        assert station.apt(f"install {name}") == 0, (
            "with other lines in /etc/holm/mirrors a 2.0 looks elsewhere [R9], [R27]"
        )
    finally:
        station.look_to(publisher)
        other.close()


def ours_come_first(
    station: Station, publisher: Publisher, both: str, alien: str, text: str
) -> None:
    """The base has higher versions of what is ours, and a holm-… that we have not."""
    publisher.offer("bris", Deb(both, "1.0", {f"/usr/share/{both}": text}))
    publisher.offer(
        "bookworm", Deb(both, "7:9", {f"/usr/share/{both}": "theirs"}), Deb(alien, "1"),
        Deb("hello", "9:99"), Deb("holm-base", "99"),
    )  # fmt: skip
    publisher.publish_all("bris", "bookworm")
    station.update("on a 2.0 [R27]")
    assert station.apt(f"install {both}") == 0, "what both archives have is not installed [R10]"
    assert station.say(f"cat /usr/share/{both}") == text, "the base's came, not bris's [R10]"
    station.apt(f"install {alien}")
    assert station.version(alien) is None, "a holm-… came from the base, on a 2.0 [R11]"
    assert station.apt("upgrade") == 0, "apt-get upgrade fails on a 2.0 [R27]"
    there = station.installed()
    for name in ("hello", "holm-base"):
        wanted = publisher.suites["bris"].version(name)
        assert there.get(name) == wanted, f"upgrade put {name} {there.get(name)} on a 2.0 [R10]"
