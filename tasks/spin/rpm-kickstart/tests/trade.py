"""What dnf and rpm do with packages that are right, and with those that are not."""

from __future__ import annotations

from rpms import Rpm


def installed(taker, supplier, word, nonce, shared) -> None:
    main, part, weak, text = word("main"), word("part"), word("weak"), nonce()
    shared.update(main=main, part=part, weak=weak, text=text)
    conf = {f"/etc/{main}-kept.conf": "one\n", f"/etc/{main}-new.conf": "one\n"}
    shared["one"] = Rpm(main, "1", {f"/usr/bin/{main}": f"#!/bin/sh\necho {text}\n", **conf},
                        tuple(conf), requires=(f"{part} >= 1",), recommends=(weak,))  # fmt: skip
    supplier.offer(shared["one"], Rpm(part, "1", {f"/usr/share/{part}": text}),
                   Rpm(weak, "1", {f"/usr/share/{weak}": text}))  # fmt: skip
    supplier.publish()
    taker.online()
    taker.look_to(supplier)
    shared["before"] = taker.installed()
    assert taker.dnf(f"install {main}") == 0, f"it cannot be installed [R14]: {taker.log()}"
    shared["number"] = taker.transaction()
    said = taker.say(f"{main}; cat /usr/share/{part} /usr/share/{weak}")
    assert said.split() == [text, text + text], f"{said[:200]!r} [R14]"


def upgraded(taker, supplier, shared, word, nonce) -> None:
    main, old, text = shared["main"], shared["one"], nonce()
    files = dict.fromkeys(old.config, "two\n") | {f"/usr/bin/{main}": f"#!/bin/sh\necho {text}\n"}
    file, foe = shared["file"], shared["foe"] = word("file"), word("foe")
    # What the next check asks for, too: dnf takes seconds to read each new index.
    supplier.offer(Rpm(main, "2", files, old.config, requires=old.requires),
                   Rpm(file, "1", {"/usr/bin/tidelog": "#!/bin/sh\n", f"/usr/share/{file}": "x"}),
                   Rpm(foe, "1", {f"/usr/share/{foe}": "x"}, conflicts=("tidelog",)))  # fmt: skip
    supplier.publish()
    kept = f"/etc/{main}-kept.conf"
    taker.write(kept, f"mine {text}\n")
    assert taker.dnf("upgrade") == 0, taker.log()
    assert taker.say(main) == text, "what the repository has now was not taken [R14]"
    said = taker.say(f"cat {kept} {kept}.rpmnew /etc/{main}-new.conf")
    assert said == f"mine {text}\ntwo\ntwo", f"configuration: {said[:200]!r} [R16]"


def conflicts_refused(taker, shared) -> None:
    file, foe = shared["file"], shared["foe"]
    before = taker.installed()
    for name in (file, foe):
        assert taker.dnf(f"install {name}") != 0, f"{name}, which conflicts, is installed [R17]"
    same = taker.installed() == before and not taker.has(f"/usr/share/{file}")
    assert same, "after refused packages others are installed [R17]"
    assert taker.run("rpm -V tidelog").stdout.strip() == "", "a file of tidelog was replaced [R17]"


def index_of_a_stranger(taker, supplier, stranger, word) -> None:
    for how, signed in (("stranger", True), ("unsigned", False)):
        one = Rpm(word(how), "6", {f"/usr/share/{how}": "evil"})
        supplier.offer(one)
        supplier.publish(stranger, signed=signed)
        taker.dnf(f"install {one.name}")
        assert taker.version(one.name) is None, f"{how}: an index was believed [R18]"
        supplier.withdraw(one)


def packages_of_strangers(taker, supplier, stranger, word) -> None:
    alien, bare = Rpm(word("alien"), "1", {"/usr/share/alien": "x"}), Rpm(word("bare"), "1")
    changed = Rpm(word("changed"), "1", {"/usr/share/changed": "x"})
    supplier.offer(alien, key=stranger)
    supplier.offer(bare, signed=False)
    supplier.offer(changed)
    supplier.publish()
    place, right = f"packages/{changed.file_name}", supplier.own[changed.file_name][1]
    supplier.put(place, Rpm(changed.name, "1", {"/usr/share/changed": "y"}).pack(supplier.key))
    for one in (alien, bare, changed):
        assert taker.dnf(f"install {one.name}") != 0, f"{one.name} was installed [R18]"
        assert taker.version(one.name) is None, f"{one.name} was installed [R18]"
    supplier.put(place, right)
    assert taker.dnf(f"install {changed.name}") == 0, (
        f"what is right is refused [R18]: {taker.log()}"
    )
    assert taker.say("cat /usr/share/changed") == "x", "it is not what the index says [R18]"
    taker.say(f"rpm -e {changed.name}")


def rpm_alone(taker, stranger, word, key) -> None:
    for number, whose in enumerate((stranger, None, key)):
        one = Rpm(word("lone"), "1", {f"/usr/share/lone{number}": "x"})
        taker.machine.shell.write_file("/root/lone.rpm", one.pack(whose), 90)
        status = taker.run("rpm -i /root/lone.rpm").status
        taker.say("rm /root/lone.rpm")
        assert (status == 0) == (whose is key), f"rpm -i ended with {status} [R18]"
        there = taker.version(one.name) == "1"
        assert there == (whose is key), f"rpm -i installed what nobody signed: {there} [R18]"
        if whose is key:
            taker.say(f"rpm -e {one.name}")
