"""What was ordered: the drawn choices and demands, as the generator wrote them down."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass
from pathlib import Path

_TOLD = json.loads((Path(__file__).parent / "spec.json").read_text(encoding="utf-8"))
AXES: dict[str, str] = _TOLD["axes"]
DEMANDS: dict[str, dict] = _TOLD["demands"]
STATUS = {name[7:]: int(value) for name, value in AXES.items() if name.startswith("status_")}
WORD = AXES["word"]
UPLINK, PORT = AXES["ports"].split()


@dataclass(frozen=True)
class Network:
    """One of the site's. `key` is ours (one, two, three), `name` the order's."""

    key: str
    name: str
    vlan: int
    range: ipaddress.IPv4Network
    own: str
    first: str
    last: str

    def holds(self, address: str) -> bool:
        return ipaddress.ip_address(address) in self.range

    def pooled(self, address: str) -> bool:
        low, one, high = (ipaddress.ip_address(a) for a in (self.first, address, self.last))
        return low <= one <= high


def _network(key: str) -> Network:
    numbers = AXES[f"net_{key}"].split()
    vlan = int(AXES[f"vlan_{key}"])
    return Network(key, AXES[key], vlan, ipaddress.ip_network(numbers[0]), *numbers[1:])


NETS = {key: _network(key) for key in ("one", "two", "three")}
_KEYS = {"1": "one", "2": "two", "3": "three"}
#: (from, to) of networks between which connections may be opened.
ALLOWED = {(_KEYS[pair[0]], _KEYS[pair[1]]) for pair in AXES["policy"].split()}


def has(name: str) -> bool:
    """Whether a demand was drawn."""
    return name in DEMANDS


def verb(name: str) -> str:
    """The router's word for what is to be done."""
    return AXES[f"verb_{name}"]
