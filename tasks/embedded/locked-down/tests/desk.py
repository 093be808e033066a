"""The commands of a meter: values that are kept, and lines that are none of them."""

from __future__ import annotations

import secrets

from meter import Meter

HOSTILE = ("", "; sh", "$(reboot)", "`id`; id", "*", "id id", "get ../../etc/build", "put A b",
           "put q  b", "put a \x01", "put a " + "v" * 201, "put " + "n" * 33 + " b",
           "attest 00", "open", "\x03", "\x04", "\x1a", "\x1c", "\x13", "\x16", "\x1b[A",
           "x" * 1000)  # fmt: skip
# What some of them may be answered with besides: the table does not say what is wrong with them.
ALSO = {"open": "refused", "get ../../etc/build": "none", "put q  b": "ok"}
AWKWARD = (
    "$(cat /etc/build) `id` ${HOME}",
    "-n -e \\n\\t\\0",
    "'\"; exit #",
    "a  b   *  %s %d",
    "~" * 200,
)


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
    for value in AWKWARD:
        name = "awkward-" + secrets.token_hex(4)
        meter.put(name, value)
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
