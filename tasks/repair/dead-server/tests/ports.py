"""Which ports of the server answer from outside while something answers on each inside."""

import contextlib
import json
import selectors
import socket

_LISTENER = """\
import select, socket
doors = []
for port in {ports}:
    try:
        doors.append(socket.create_server(("0.0.0.0", port)))
    except OSError:
        pass
while True:
    for door in select.select(doors, [], [])[0]:
        visitor, _ = door.accept()
        visitor.sendall(b"{left}" + b"{right}\\n")
        visitor.close()
"""
_INSIDE = """\
import socket
for port in {ports}:
    try:
        with socket.create_connection(("127.0.0.1", port), 20) as door:
            print(port, door.recv(99).decode())
    except OSError as error:
        print(port, error)
"""


_PROTOCOLS = {1: "icmp", 6: "tcp", 17: "udp", 58: "ipv6-icmp"}
_VERDICTS = {"accept", "drop", "reject", "return", "jump", "goto"}


def gaps(rules, allowed):
    """What a firewall lets in beside the ports that are `allowed`, by its own rules.

    `rules` is what `nft -j list ruleset` prints. The verifier sees but one sender and a few ports,
    and a rule may know them; so the chains are gone through as a new packet goes through them.
    """
    try:
        items = json.loads(rules)["nftables"]
    except (ValueError, TypeError, KeyError):
        return ["whatever comes: there are no rules to be read"]
    return _Firewall(items, frozenset(allowed)).gaps()


class _Firewall:
    """The rules of nftables, by the place at which they stand: family, table and chain."""

    def __init__(self, items, allowed):
        self._allowed = allowed
        self._bases = []
        self._rules, self._sets = {}, {}
        for item in items:
            for kind, said in item.items():
                place = said.get("family"), said.get("table")
                if kind == "chain":
                    self._rules.setdefault((*place, said["name"]), [])
                    if said.get("hook") == "input":
                        self._bases.append((*place, said["name"], said.get("policy")))
                elif kind == "rule":
                    self._rules.setdefault((*place, said["chain"]), []).append(said["expr"])
                elif kind in ("set", "map"):
                    self._sets[*place, f"@{said['name']}"] = said.get("elem", [])

    def gaps(self):
        """A packet has to pass every chain of the input: one that shuts is enough."""
        found = []
        for family in ("ip", "ip6"):
            ways = [
                self._let_in(base[:3], [], policy=base[3])
                for base in self._bases
                if base[0] in ("inet", family)
            ]
            found += min(ways, key=len, default=[f"whatever comes by {family}: no chain drops it"])
        for rules in self._rules.values():
            for part in (part for rule in rules for part in rule):
                if {*part} & {"redirect", "dnat", "tproxy"}:
                    found.append(f"what is sent on by {json.dumps(part)[:100]}")
        return sorted({*found})

    def _let_in(self, place, matches, policy="", depth=0):
        """What a chain lets in; `policy` is that of a chain at which packets begin."""
        found = []
        open_end = policy == "accept"
        for rule in self._rules.get(place, []) if depth < 16 else []:
            fits = matches + [part["match"] for part in rule if "match" in part]
            for fit, verdict, target in self._verdicts(place, rule):
                said = fits + fit
                if verdict == "accept" or (verdict == "return" and open_end):
                    found += self._wide(place, said)
                elif verdict in ("jump", "goto"):
                    there = (*place[:2], target)
                    found += self._let_in(there, said, depth=depth + 1)
                    if verdict == "goto" and open_end and not self._shuts(there):
                        found += self._wide(place, said)
                if said == matches and _always(rule) and self._over(place, verdict, target):
                    return found
        return found + (
            ["whatever no rule names: no chain of the input drops it"] if open_end else []
        )

    def _verdicts(self, place, rule):
        """What a rule decides: further conditions, the word and the chain that it names."""
        for part in rule:
            if "vmap" in part:
                key, data = part["vmap"]["key"], part["vmap"]["data"]
                for one, verdict in self._elements(place, data):
                    yield [{"op": "==", "left": key, "right": one}], *_verdict(verdict)
            elif word := {*part} & _VERDICTS:
                yield [], *_verdict({name: part[name] for name in word})

    def _over(self, place, verdict, target):
        """Whether nothing comes to the rules behind one that has no conditions."""
        there = (*place[:2], target)
        return verdict in ("drop", "reject", "return", "goto", "accept") or (
            verdict == "jump" and self._shuts(there)
        )

    def _shuts(self, place, depth=0):
        """Whether a chain drops whatever comes to its end."""
        for rule in self._rules.get(place, []) if depth < 16 else []:
            if not _always(rule):
                continue
            for _, verdict, target in self._verdicts(place, rule):
                if verdict in ("jump", "goto"):
                    return self._shuts((*place[:2], target), depth + 1)
                return verdict in ("drop", "reject")
        return False

    def _elements(self, place, data):
        """The members of a set or map, named or written out, as plain values."""
        named = isinstance(data, str) and data.startswith("@")
        members = self._sets.get((*place[:2], data), []) if named else data
        if isinstance(members, dict):
            members = members.get("set", [members])
        for one in members if isinstance(members, list) else [members]:
            yield one["elem"]["val"] if isinstance(one, dict) and "elem" in one else one

    def _wide(self, place, matches):
        """What an accepting rule lets in beside what is allowed, by the narrowest condition."""
        protocols = {"tcp", "udp"}
        found, narrow = [], False
        for match in matches:
            left = match["left"] if isinstance(match["left"], dict) else {}
            members = [*self._elements(place, match["right"])]
            if match["op"] not in ("==", "in"):
                continue
            words = {_PROTOCOLS.get(one, one) for one in members if isinstance(one, int | str)}
            plain = bool(members) and len(words) == len({*map(str, members)})
            key = left.get("meta", left.get("ct", {})).get("key")
            field = left.get("payload", {})
            kind = field.get("protocol")
            if key == "l4proto" or field.get("field") in ("protocol", "nexthdr"):
                protocols &= words if plain else protocols
                narrow |= plain and words <= {"icmp", "icmpv6", "ipv6-icmp"}
            elif "concat" in left:
                ports = {*_pairs(left["concat"], members)}
                narrow |= bool(ports) and ports <= self._allowed
            elif field.get("field") == "dport":
                kinds = protocols if kind == "th" else {kind}
                ports = {f"{one} {number}" for one in kinds for number in _numbers(members)}
                found += sorted(ports - self._allowed)
                narrow |= bool(ports) and ports <= self._allowed
            narrow |= key == "state" and plain and words <= {"established", "related"}
            narrow |= key in ("iif", "iifname") and plain and words == {"lo"}
            narrow |= kind in ("icmp", "icmpv6")
        if narrow:
            return []
        return found or [f"whatever fits {json.dumps(matches)[:200]}"]


def _always(rule):
    """Whether a rule has no conditions: no match, no map, no limit."""
    return all({*part} <= {"counter", "log", "mangle", *_VERDICTS} for part in rule)


def _verdict(said):
    """A verdict as its word and the chain that it names."""
    word, more = next(iter(said.items()))
    return word, more.get("target") if isinstance(more, dict) else None


def _pairs(fields, members):
    """`tcp 22` of every member of a set that joins a protocol and a port."""
    keys = [one.get("meta", {}).get("key") or one.get("payload", {}).get("field") for one in fields]
    for member in members:
        joined = member.get("concat", []) if isinstance(member, dict) else []
        values = dict(zip(keys, joined, strict=False))
        proto = values.get("l4proto", values.get("protocol", "any protocol"))
        proto = _PROTOCOLS.get(proto, proto) if isinstance(proto, int) else proto
        for number in _numbers([values.get("dport", "any")]):
            yield f"{proto} {number}"


def _numbers(members):
    for one in members:
        if isinstance(one, dict) and "range" in one:
            low, high = one["range"]
            yield f"{low} to {high}" if low != high else low
        else:
            yield one


def open_from_outside(server, word):
    """The ports of `server.closed` at which the word is heard from outside; all have it inside."""
    shell = server.ingrid()
    left, right = word[:16], word[16:]
    listener = _LISTENER.format(ports=server.closed, left=left, right=right)
    shell.write_file("/tmp/listener.py", listener.encode())
    shell.write_file("/tmp/inside.py", _INSIDE.format(ports=server.closed).encode())
    server.root("python3 /tmp/listener.py </dev/null >/dev/null 2>&1 & echo $! > /tmp/listener.pid")
    for _ in range(10):
        heard = shell.run("sleep 1; python3 /tmp/inside.py", timeout=60).stdout
        if heard.count(word) == len(server.closed):
            break
    try:
        assert heard.count(word) == len(server.closed), f"the listener inside: {heard[-300:]}"
        return _heard(server, word.encode())
    finally:
        server.root("kill $(cat /tmp/listener.pid)")


def _heard(server, word):
    answers = {}
    with selectors.DefaultSelector() as selector:
        for port in server.closed:
            door = socket.create_connection(server.machine.forward(port), 10)
            door.setblocking(False)
            selector.register(door, selectors.EVENT_READ, port)
        until = server.machine.deadline(6)
        while selector.get_map() and (left := until.remaining()) > 0:
            for key, _ in selector.select(left):
                with contextlib.suppress(OSError):
                    answers[key.data] = key.fileobj.recv(99)
                selector.unregister(key.fileobj)
                key.fileobj.close()
        for key in list(selector.get_map().values()):
            key.fileobj.close()
    return [port for port, answer in answers.items() if word in answer]
