"""The customer's name, wherever a unit says its own."""

from __future__ import annotations

import re
import shlex

from story import IDENTITY
from unit import Unit

BUILD_ID = "SK-48213-7f41c0d9"


def names_the_product(unit: Unit) -> None:
    """os-release has the customer's words."""
    wanted = {
        "NAME": "Skerry Logbook",
        "PRETTY_NAME": "Skerry Logbook 2.3",
        "ID": "skerry-logbook",
        "ID_LIKE": "debian",
        "VERSION_ID": "2.3",
        "BUILD_ID": BUILD_ID,
        "SUPPORT_URL": "https://support.skerry.example/logbook",
    }
    # A shell reads it, as os-release(5) says of this file.
    each = "; ".join(f'echo "${key}"' for key in wanted)
    said = unit.say(f"env -i PATH=/usr/bin:/bin sh -c {shlex.quote(f'. /etc/os-release; {each}')}")
    found = dict(zip(wanted, [*said.splitlines(), *[""] * len(wanted)], strict=False))
    assert found == wanted, f"os-release says {found} [R16]"


def hostname_follows(unit: Unit) -> None:
    """The host name comes from the machine-id, and stands at the log-in prompt."""
    wanted = "logbook-" + unit.say(IDENTITY)[:6]
    assert re.fullmatch(r"logbook-[0-9a-f]{6}", wanted)
    assert unit.say("uname -n") == wanted
    # systemd and the kernel may write on, behind the prompt; what stands before the name is free.
    prompt = re.compile(rf"{wanted}[^\n]*login:")
    # A getty may wait until everything else has started.
    unit.until(
        lambda: unit.machine.console.search(prompt, 0),
        30,
        f"log-in prompt on the console that shows {wanted} [R17]",
    )


def greets(unit: Unit) -> None:
    """Name, version and build stand above the prompt and after a log-in."""
    # The order asks for three things on one line; how they are joined is the maker's choice.
    line = rf"(?m)^(?=.*Skerry Logbook)(?=.*(?<![\d.])2\.3(?!\.?\d)).*{BUILD_ID}"
    above = re.compile(line + r"[^\0]{0,3000}?login:")
    assert unit.machine.console.search(above, 0), "not above the console's log-in prompt [R18]"
    text = unit.login_text()
    assert re.search(line, text), f"not after a log-in over SSH [R18]: {text[-500:]!r}"
