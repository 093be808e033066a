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


def gaps(rules, allowed):
    """What a firewall lets in beside the ports that are `allowed`, by its own rules.

    `rules` is what `nft -j list ruleset` prints. A rule that accepts has to say what: a port, what
    belongs to a connection, the machine itself, an echo. The verifier sees but one sender and a few
    ports, and a rule may know them.
    """
    items = json.loads(rules)["nftables"]
    chains = [item["chain"] for item in items if "chain" in item]
    elsewhere = {
        (chain["family"], chain["table"], chain["name"])
        for chain in chains
        if chain.get("hook", "input") != "input"
    }
    sets = {
        f"@{item['set']['name']}": item["set"].get("elem", []) for item in items if "set" in item
    }
    rules = [item["rule"] for item in items if "rule" in item]
    ends = [chain.get("policy") == "drop" for chain in chains if chain.get("hook") == "input"]
    ends += [{*rule["expr"][0]} <= {"drop", "reject"} for rule in rules if len(rule["expr"]) == 1]
    found = [] if any(ends) else ["whatever no rule names: no chain of the input drops it"]
    for rule in rules:
        said = rule.get("expr", [])
        place = rule.get("family"), rule.get("table"), rule.get("chain")
        if place not in elsewhere and any("accept" in part for part in said):
            found += _let_in([part["match"] for part in said if "match" in part], allowed, sets)
    return found


def _let_in(matches, allowed, sets):
    """What one rule that accepts lets in beside `allowed`."""
    narrow = False
    for match in matches:
        left, right = match["left"], match["right"]
        field = left.get("payload", {}) if isinstance(left, dict) else {}
        key = left.get("meta", left.get("ct", {})).get("key") if isinstance(left, dict) else ""
        equal = match["op"] in ("==", "in")
        if field.get("field") == "dport" and equal:
            listed = {"set": sets[right]} if str(right) in sets else right
            ports = {f"{field['protocol']} {port}" for port in _numbers(listed)}
            yield from sorted(ports - allowed)
            narrow = True
        belongs = key == "state" and "new" not in right
        itself = key in ("iif", "iifname") and right == "lo"
        narrow |= equal and (belongs or itself or "icmp" in json.dumps([left, right]))
    if not narrow:
        yield f"whatever fits {json.dumps(matches)[:200]}"


def _numbers(right):
    if isinstance(right, dict) and "set" in right:
        for part in right["set"]:
            yield from _numbers(part)
    elif isinstance(right, dict) and "range" in right:
        low, high = right["range"]
        yield f"{low} to {high}" if low != high else low
    else:
        yield right


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
