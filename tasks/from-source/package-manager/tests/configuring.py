"""Configuration files."""

from __future__ import annotations

import form
from form import Package
from station import lines


def configuration_through_upgrades(station, repository, word, nonce) -> None:
    name = word("set")
    paths = [
        f"etc/{name}/{what}"
        for what in ("same", "edited", "deleted", "dropped", "edited-dropped", "new")
    ]
    same, edited, deleted, dropped, kept, new = paths

    def version(number: str, *configs: str) -> Package:
        made = Package(name, number).file(f"opt/{name}", number)
        for path in configs:
            made.config(path, f"{path} {number} {nonce()}\n", 0o640)
        return made

    one = version("1", same, edited, deleted, dropped, kept)
    two = version("2", same, edited, deleted, new)
    three = version("3", same, edited, deleted, new)
    repository.offer(one)
    station.done("update")
    station.done(f"install {name}")
    station.say(f"echo ours >>/{edited}; rm /{deleted}; echo ours >>/{kept}; echo >/{new}.lade-new")
    station.sound()
    for old, late in ((one, two), (two, three)):
        repository.offer(late)
        station.done("update")
        station.note()
        station.done("upgrade")
        gone = {p: e for p, e in old.entries.items() if p in (f"opt/{name}", same, dropped)}
        come = {p: e for p, e in late.entries.items() if p in (f"opt/{name}", same)}
        come |= {f"{p}.lade-new": late.entries[p] for p in (edited, deleted)}
        if old is one:
            come[new] = late.entries[new]
            mine = {kept: form.Entry("file", 0o640, data=one.entries[kept].data + b"ours\n")}
            gone |= mine
            come |= {f"{kept}.lade-saved": mine[kept]}
        else:
            gone |= {f"{p}.lade-new": old.entries[p] for p in (edited, deleted)} | {
                new: old.entries[new]
            }
            come |= {new: late.entries[new]}
        station.changed(lines(gone), lines(come))
        station.sound()
    station.ends(f"owner /{edited}.lade-new", 13, "it belongs to no package [R21]")
    owner = station.asks(f"owner /{edited}")
    assert owner == [name], f"lade owner /{edited} printed {owner}, {name} was wanted [R25]"


def configuration_that_was_there_before(station, repository, word, nonce) -> None:
    name, ours = word("set"), nonce()
    package = Package(name, "1").file(f"opt/{name}", name)
    there, same, edited, lost = (
        f"etc/{name}.{what}" for what in ("there", "same", "edited", "lost")
    )
    for path in (there, same, edited, lost):
        package.config(path, nonce())
    repository.offer(package)
    station.done("update")
    station.say(f"mkdir -p /opt; printf %s {ours} >/{there}; chmod 600 /{there}")
    station.note()
    station.done(f"install {name}")
    come = {p: e for p, e in package.plain.items() if p != there}
    station.changed(come=lines({**come, f"{there}.lade-new": package.entries[there]}))
    station.say(f"printf %s {ours} >/{edited}; rm /{there}.lade-new /{lost}")
    station.note()
    station.done(f"remove {name}")
    mine = {
        there: form.Entry("file", 0o600, data=ours.encode()),
        edited: form.Entry("file", 0o644, data=ours.encode()),
    }
    gone = {f"opt/{name}": package.entries[f"opt/{name}"], same: package.entries[same]}
    went, _ = station.changes()
    # Whose folder /opt is, and so whether it goes, is said by the delivered packages.
    emptied = {row for row in went if row.endswith("|./opt")}
    saved = {f"{p}.lade-saved": e for p, e in mine.items()}
    station.changed(lines({**gone, **mine}) | emptied, lines(saved))
