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


def let_in(rules, allowed):
    """Ports that a rule of the firewall accepts by their numbers and that are not `allowed`.

    `rules` is what `nft -j list ruleset` prints. What a rule without a port lets in is seen from
    outside: see `open_from_outside`.
    """
    more = set()
    for item in json.loads(rules)["nftables"]:
        said = item.get("rule", {}).get("expr", [])
        if not any("accept" in part for part in said):
            continue
        for match in (part["match"] for part in said if "match" in part):
            field = match["left"].get("payload", {}) if isinstance(match["left"], dict) else {}
            if field.get("field") == "dport" and match["op"] in ("==", "in"):
                found = set(_numbers(match["right"]))
                more |= {f"{field['protocol']} {port}" for port in found} - allowed
    return sorted(more)


def _numbers(right):
    if isinstance(right, dict) and "set" in right:
        for part in right["set"]:
            yield from _numbers(part)
    elif isinstance(right, dict) and "range" in right:
        low, high = right["range"]
        yield f"{low} to {high}" if low != high else low
    elif isinstance(right, int):
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
