"""The commands of a meter: values that are kept, and lines that are none of them."""

from __future__ import annotations

import secrets

from meter import Meter

# Every control character alone, but for those that end a line.
_CONTROLS = tuple(chr(number) for number in (*range(32), 127) if chr(number) not in "\r\n")
HOSTILE = ("", *_CONTROLS, "; sh", "$(reboot)", "`id`; id", "*", "id id", "get ../../etc/build",
           "put A b", "put q  b", "put a \x01", "put a " + "v" * 201, "put " + "n" * 33 + " b",
           "attest 00", "open", "\x1b[A", "x" * 1000)  # fmt: skip
# What some of them may be answered with besides: the table does not say what is wrong with them.
ALSO = {"open": "refused", "get ../../etc/build": "none", "put q  b": "ok"}
AWKWARD = (
    "$(cat /etc/build) `id` ${HOME}",
    "-n -e \\n\\t\\0",
    "'\"; exit #",
    "a  b   *  %s %d",
    "~" * 200,
    "".join(map(chr, range(33, 127))) + " .",
    "blanks at the end   ",
    "-",
)
# What a program would take for its options, the longest, and (but for `a`) the shortest.
_NAMES = ("-", "-e", "--help", "-n-1", "n" * 32, "7")


def holds_value(one: Meter, name: str, value: str) -> None:
    """What was put under a name is there."""
    said = one.get(name)
    assert said == f"value {value}", f"[R14], [R18] want '= value {value}' for {name}: {said!r}"


def keeps_values(meter: Meter, values: dict[str, str]) -> None:
    """Values of this run are kept, the last one under a name; `values` is what is kept then."""
    for name, value in values.items():
        assert meter.get(name) == "none", f"[R14] wants '= none' for {name}, which nobody put"
        meter.put(name, value)
    name = next(iter(values))
    values[name] = secrets.token_hex(20)
    meter.put(name, values[name])
    for name, value in values.items():
        holds_value(meter, name, value)


def keeps_awkward_values(meter: Meter) -> None:
    """Values that a shell would spoil come back as they went."""
    names = [*_NAMES, secrets.choice("bcdefghijklmnopqrstuvwxyz"), secrets.token_hex(16)]
    wanted = dict(zip(names, AWKWARD, strict=True))
    for name, value in wanted.items():
        meter.put(name, value)
    for name, value in wanted.items():
        holds_value(meter, name, value)


def knows_no_other_line(meter: Meter) -> None:
    """Lines that are no command are answered as such, and leave nothing behind."""
    for line in HOSTILE:
        said = meter.ask(line)
        assert said in ("unknown", ALSO.get(line)), (
            f"[R14], [R17] want '= unknown' for {line[:60]!r}: {said[:80]!r}"
        )
    assert meter.get("a") == "none", "[R14]: a value was kept that is none"
    assert meter.learn_id() == meter.id
    said = meter.states()
    assert said == ["READY"], f"[R6] wants the line UNIT READY once: {said}"
