"""What `skarn install` leaves, and what it refuses."""

from __future__ import annotations

import hashlib
import json
import random
import time

from bad_archives import bad_archives
from bench import switch_off
from registry import Registry, Universe, cut, hang, nonsense, sri, unavailable
from trees import lock_faults, tree_faults

from benchflow.boot.machine.disks import run_tool

CACHE = "/data/cache"
SITE = "/data/site"
INSTALL_SECONDS = 60


class Site:
    """A folder with a package.json on a machine."""

    def __init__(self, guest, registry: Registry, place: str = SITE, cache: str = CACHE) -> None:
        self.guest, self.registry, self.place, self.cache = guest, registry, place, cache

    def write(self, manifest: dict) -> None:
        text = json.dumps(manifest, indent=2).encode()
        self.guest.ok(f"mkdir -p {self.place}", "a folder")
        word = self.guest.ferry.load(text)
        self.guest.ok(
            f"echo {word} | nc 10.0.2.2 {self.guest.ferry.port} > {self.place}/package.json; sync",
            "package.json",
        )

    def fresh(self) -> None:
        self.guest.ok(
            f"rm -rf {self.place} {self.cache}; mkdir -p {self.place} {self.cache}", "a folder"
        )

    def command(self, options: str = "") -> str:
        return (
            f"cd {self.place} && env -i PATH=/bin HOME=/tmp SKARN_REGISTRY={self.registry.url}"
            f" SKARN_CACHE={self.cache} skarn install {options} > /tmp/out 2> /tmp/err < /dev/null"
        )

    def install(self, options: str = "", seconds: float = INSTALL_SECONDS) -> int:
        return self.guest.run(self.command(options), seconds).status

    def installs(self, why: str, options: str = "") -> None:
        status = self.install(options)
        if status:
            said = self.guest.read("/tmp/err", 1000)
            raise AssertionError(
                f"{why}: `skarn install {options}` ends with {status}: {said[-400:]!r}"
            )

    def state(self) -> dict[str, str]:
        """Every path in the folder: `d`, `l` and where it leads, or `f` and a digest, with ` x`
        where it is executable."""
        told = self.guest.take(
            f"cd {self.place}; find . -type d | sed 's/^/d /'; find . -type f -perm -100 | sed "
            "'s/^/x /';"
            " find . -type f | sed 's/.*/\"&\"/' | xargs -r sha256sum | sed 's/^/f /';"
            " find . -type l | while read -r l; do echo \"l $l $(readlink \"$l\")\"; done;"
            " find . ! -type d ! -type f ! -type l | sed 's/^/o /'"
        ).decode("utf-8", "replace")  # fmt: skip
        found: dict[str, str] = {}
        executable = set()
        for line in told.splitlines():
            kind, _, rest = line.partition(" ")
            if kind == "x":
                executable.add(rest[2:])
            elif kind == "f":
                digest, _, path = rest.partition("  ")
                found[path[2:]] = f"f {digest}"
            elif kind == "l":
                path, _, target = rest[2:].partition(" ")
                found[path] = f"l {target}"
            elif rest != ".":
                found[rest[2:]] = kind
        for path in executable & found.keys():
            found[path] += " x"
        return found

    def outside(self) -> str:
        """What an archive must not have changed."""
        return self.guest.ok(
            "find / -xdev | grep -v -E '^/(tmp|proc|sys|dev|data)' | sort | md5sum; ls -la /etc "
            "/bin | md5sum;"
            f" find /data | grep -v -e ^{self.cache} -e ^{self.place} | sort | md5sum; find "
            "/tmp -maxdepth 1 | sort | grep -v -e /tmp/out -e /tmp/err",
            "files",
        )  # fmt: skip


def whole(
    site: Site, universe: Universe, manifest: dict, versions: dict[tuple[str, str], str], why: str
) -> dict[str, str]:
    """node_modules and the lock are as they have to be."""
    state = site.state()
    said = tree_faults(state, universe, manifest, versions)
    assert not said, f"{why} {said}"
    said = lock_faults(
        site.guest.read(f"{site.place}/skarn-lock.json"),
        state,
        universe,
        site.registry,
        manifest,
    )
    assert not said, f"{why} skarn-lock.json: {said}"
    assert site.guest.run("test -e /tmp/a-script-was-run").status, (
        f"{why} a script of a package was run"
    )
    return state


def installs(guest, universe: Universe, registry: Registry) -> None:
    """[R20] and the form of the lock."""
    site = Site(guest, registry)
    site.fresh()
    manifest, versions = universe.manifest, universe.needed()
    site.write(manifest)
    site.installs("[R20]")
    whole(site, universe, manifest, versions, "[R20]")
    asked = [path for path in registry.asked if path.startswith("/archives/")]
    assert not [path for path in registry.asked if "never-asked" in path or "nor-this" in path], (
        "[R20] what is not asked for was fetched"
    )
    # Less is asked for, and another range.
    rng = universe.rng
    gone = rng.choice(
        [name for name in manifest["dependencies"] if len(manifest["dependencies"]) > 2]
    )
    less = json.loads(json.dumps(manifest))
    del less["dependencies"][gone]
    site.write(less)
    site.installs("[R20] after a change of package.json")
    whole(site, universe, less, versions, f"[R20] without {gone}:")
    assert asked, "[R20] nothing was fetched"
    # A program finds what it asks for.
    name = rng.choice(list(less["dependencies"]))
    package = universe.packages[name][versions[name, less["dependencies"][name]]]
    text = guest.ok(f"cd {SITE}; skarn -e \"console.log(require('{name}'))\"", "[R20] require")
    wanted = package.files["index.js"][0].decode().split("'")[1]
    assert text.strip() == wanted, (
        f"[R20] require('{name}') is {text.strip()[:100]!r}, not {wanted!r}"
    )


def keeps_to_the_lock(guest, universe: Universe, registry: Registry) -> None:
    """[R21] The registry has moved on, is slow to answer, and is gone."""
    site = Site(guest, registry)
    site.fresh()
    manifest, versions = universe.manifest, universe.needed()
    site.write(manifest)
    site.installs("[R21]")
    first = whole(site, universe, manifest, versions, "[R21]")
    universe.grow()
    guest.ok(f"cd {SITE}; rm -rf node_modules", "files")
    site.installs("[R21] with a lock, when the registry has newer versions")
    assert site.state() == first, (
        f"[R21] from the lock came another tree: {_other(first, site.state())}"
    )
    guest.ok(
        f"cd {SITE}; rm -rf node_modules; mkdir -p /tmp/elsewhere; cp package.json "
        "skarn-lock.json /tmp/elsewhere",
        "files",
    )
    elsewhere = Site(guest, registry, "/tmp/elsewhere", "/tmp/other-cache")
    elsewhere.installs("[R21] elsewhere, with an empty cache")
    assert elsewhere.state() == first, (
        f"[R21] elsewhere came another tree: {_other(first, elsewhere.state())}"
    )
    guest.ok("rm -rf /tmp/elsewhere /tmp/other-cache", "files")
    registry.asked.clear()
    site.installs("[R21] from cache and lock", "--offline")
    assert site.state() == first, (
        f"[R21] --offline made another tree: {_other(first, site.state())}"
    )
    assert not registry.asked, f"[R21] --offline asked the registry for {registry.asked[0]}"
    # What package.json asks for otherwise is looked for.
    newer = json.loads(json.dumps(manifest))
    name = universe.rng.choice(list(newer["dependencies"]))
    newer["dependencies"][name] = universe.tags[name]["latest"]
    before = site.state()
    site.write(newer)
    status = site.install("--offline")
    assert status > 0, "[R21] --offline ends with 0, and what package.json asks for is in no cache"
    assert {**site.state(), "package.json": ""} == {**before, "package.json": ""}, (
        "[R22] what failed has left another tree"
    )
    site.installs("[R21] after a change of package.json")
    state = site.state()
    at = f"node_modules/{name}/package.json"
    wanted = hashlib.sha256(
        universe.packages[name][newer["dependencies"][name]].files["package.json"][0]
    ).hexdigest()
    assert state.get(at, " ").split()[1] == wanted, (
        f"[R21] {name} {newer['dependencies'][name]} is not there"
    )


def _other(first: dict[str, str], second: dict[str, str]) -> str:
    return str(sorted(set(first.items()) ^ set(second.items()))[:3])[:300]


def refuses(guest, universe: Universe, registry: Registry, rng: random.Random) -> None:
    """[R22] Nothing changes where something is wrong."""
    site = Site(guest, registry)
    site.fresh()
    manifest = universe.manifest
    site.write(manifest)
    site.installs("[R22]")
    name = universe.word()
    good = Universe._version(universe, name, "1.0.0").pack(rng)
    universe.packages[name], universe.tags[name] = {"1.0.0": good}, {"latest": "1.0.0"}
    asks = json.loads(json.dumps(manifest))
    asks["dependencies"][name] = "1"
    before, outside = site.state(), site.outside()
    site.write(asks)
    before["package.json"] = site.state()["package.json"]
    place = registry.place(name, "1.0.0")

    def refused(what: str, seconds: float = INSTALL_SECONDS) -> None:
        status = site.install(seconds=seconds)
        assert status, f"[R22] {what}, and it ends with 0"
        assert status < 128, f"[R22] {what}: it ends by a signal ({status})"
        now = site.state()
        assert now == before, (
            f"[R22] {what}: node_modules or the lock have changed: {_other(before, now)}"
        )
        assert site.outside() == outside, f"[R22] {what}: files elsewhere have changed"

    tried = list(bad_archives(name, "1.0.0", good.archive).items())
    rng.shuffle(tried)
    for what, data in tried:
        good.archive = data
        refused(f"an archive {what}")
    good.pack(rng)
    told = registry.packument(name)
    dist = told["versions"]["1.0.0"]["dist"]
    for what, integrity in (("wrong", sri(b"another")), ("missing", None), ("empty", "")):
        changed = {key: value for key, value in dist.items() if key != "integrity"}
        if integrity is not None:
            changed["integrity"] = integrity
        other = json.loads(json.dumps(told))
        other["versions"]["1.0.0"]["dist"] = changed
        registry.changed[f"/{name}"] = json.dumps(other).encode()
        refused(f"an integrity is {what}")
    other = json.loads(json.dumps(told))
    for what, change in (
        ("a dependency's name leaves node_modules", {"dependencies": {"../../evil": "1"}}),
        ("a command's name leaves .bin", {"bin": {"../../../evil": "index.js"}}),
        ("a command's file leaves the package", {"bin": {"evil": "../../../../bin/busybox"}}),
    ):
        other["versions"]["1.0.0"] = told["versions"]["1.0.0"] | change
        registry.changed[f"/{name}"] = json.dumps(other).encode()
        evil = json.dumps(
            {
                "name": "evil",
                "dist-tags": {"latest": "1.0.0"},
                "versions": {"1.0.0": {"name": "evil", "version": "1.0.0", "dist": dist}},
            }
        )
        registry.changed["/../../evil"] = evil.encode()
        refused(what)
    registry.changed.clear()
    for what, path, fault in (
        ("the registry says nonsense", f"/{name}", nonsense),
        ("the registry breaks off", f"/{name}", cut),
        ("an archive breaks off", place, cut),
        ("the registry is busy four times", place, unavailable(4)),
    ):
        registry.faults = {path: fault}
        refused(what)
    registry.faults = {place: hang(registry)}
    refused("the registry says nothing", 60)
    registry.faults = {}
    asks["dependencies"][name] = "7"
    site.write(asks)
    before["package.json"] = site.state()["package.json"]
    refused("nothing fits")
    asks["dependencies"][name] = "1"
    site.write(asks)
    registry.faults = {place: unavailable(2), f"/{name}": unavailable(2)}
    site.installs("[R22] the registry was busy twice")
    registry.faults = {}
    assert f"node_modules/{name}/package.json" in site.state(), f"[R22] {name} is not there"


def data_disk(station):
    """An ext4 for /data."""
    path = station.blank(256)
    run_tool(
        ["mke2fs", "-q", "-t", "ext4", "-E", "lazy_itable_init=0,lazy_journal_init=0", str(path)]
    )
    return path


MOUNT = "mount -t ext4 /dev/vda /data && mkdir -p /data/site /data/cache"


def survives(station, universe: Universe, registry: Registry, rng: random.Random) -> None:
    """[R23] The power goes after an installation, and in the middle of others."""
    station.drop()
    guest = station.boot([data_disk(station)])
    try:
        guest.ok(MOUNT, "the machine's disk")
        manifest, versions = universe.manifest, universe.needed()
        site = Site(guest, registry)
        site.write(manifest)
        site.installs("[R23]")
        guest.machine.power_cut()
        restart(guest)
        state = whole(
            site, universe, manifest, versions, "[R23] after a power cut, what was installed:"
        )
        site.guest.ok(f"rm -rf {SITE}/node_modules", "files")
        site.installs("[R23] from the cache, after a power cut", "--offline")
        assert site.state() == state, "[R23] the cache was not on the disk"
        for cut_ in range(3):
            less = json.loads(json.dumps(manifest))
            for name in rng.sample(list(less["dependencies"]), len(less["dependencies"]) // 2):
                del less["dependencies"][name]
            if cut_ == 1:
                guest.ok(
                    f"rm -rf {CACHE}/* {SITE}/node_modules {SITE}/skarn-lock.json; sync", "files"
                )
            else:
                site.write(less)
                site.installs("[R23]")
                guest.ok(f"rm -rf {CACHE}/*; sync", "files")
            site.write(manifest)
            cut_off(guest, site, registry, rng)
            restart(guest)
            site.installs("[R23] after a power cut in the middle")
            whole(
                site,
                universe,
                manifest,
                versions,
                "[R23] installed again after a power cut in the middle:",
            )
    finally:
        switch_off(guest.machine)


def cut_off(guest, site: Site, registry: Registry, rng: random.Random) -> None:
    """The power goes while an installation is at work: at a drawn archive, or a while
    later."""
    registry.asked.clear()
    guest.ok(f"({site.command()}; echo $? > /tmp/ended) > /dev/null 2>&1 &", "an installation")
    count = rng.randint(2, 14)
    deadline = guest.machine.deadline(INSTALL_SECONDS)
    while deadline.remaining() > 0:
        if sum(path.startswith("/archives/") for path in registry.asked) >= count:
            break
        if guest.run("test -e /tmp/ended").status == 0:
            break
    time.sleep(rng.choice((0, 0, 0.2, 0.6, 1.2)))
    guest.machine.power_cut()


def restart(guest) -> None:
    guest.machine.boot()
    guest.machine.expect(r"the machine is up\r?\n", 300)
    guest.machine.attach()
    guest.ok(f"dmesg -n 1; mkdir -p /tmp/work; {MOUNT}", "the machine's disk")
