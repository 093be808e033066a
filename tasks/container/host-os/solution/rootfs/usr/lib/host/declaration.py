"""The declaration: what is well-formed in it, as a whole and entry by entry."""

import re

from oci import Refused

FORMAT = "holmen-site-1"
NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
KEYS = {
    "image", "ref", "args", "env", "restart", "memory_mb", "pids", "cpu_percent", "ports", "reach",
    "volumes",
}  # fmt: skip
POLICIES = ("always", "on-failure", "never")


class Malformed(Exception):
    pass


def whole(document):
    """The entries of a declaration, by name."""
    if not isinstance(document, dict) or set(document) != {"format", "containers"}:
        raise Malformed("not an object with format and containers")
    if document["format"] != FORMAT:
        raise Malformed(f"not {FORMAT}")
    containers = document["containers"]
    if not isinstance(containers, dict):
        raise Malformed("containers is no object")
    for name in containers:
        if not NAME.fullmatch(name):
            raise Malformed(f"{name!r} is no name")
    return containers


def need(condition, detail):
    if not condition:
        raise Refused("entry", detail)


def integer(value, least, most):
    return type(value) is int and least <= value <= most


def port(text):
    return isinstance(text, str) and re.fullmatch(r"[1-9][0-9]{0,4}", text) and int(text) < 65536


class Entry:
    def __init__(self, raw):
        need(isinstance(raw, dict), "no object")
        need(set(raw) <= KEYS, f"unknown: {sorted(set(raw) - KEYS)}")
        image = raw.get("image")
        need(isinstance(image, str) and image and "\0" not in image, "image is no path")
        need(not image.startswith("/") and ".." not in image.split("/"), "image leads out")
        self.image = image
        self.ref = raw.get("ref")
        need("ref" not in raw or texts([self.ref]), "ref is no text")
        self.args = raw.get("args")
        need("args" not in raw or texts(self.args), "args is no list of texts")
        self.env = raw.get("env", {})
        need(isinstance(self.env, dict) and texts(list(self.env.values())), "env is no object")
        need(all(k and "=" not in k and "\0" not in k for k in self.env), "a name in env")
        restart = raw.get("restart", {"policy": "always"})
        need(isinstance(restart, dict) and set(restart) <= {"policy", "max"}, "restart")
        self.policy, self.most = restart.get("policy"), restart.get("max")
        need(self.policy in POLICIES, "restart.policy")
        need("max" not in restart or self.policy == "on-failure", "restart.max")
        need(self.most is None or integer(self.most, 0, 1000), "restart.max")
        need("max" not in restart or self.most is not None, "restart.max")
        self.memory = raw.get("memory_mb", 64)
        need(integer(self.memory, 4, 4096), "memory_mb")
        self.pids = raw.get("pids", 64)
        need(integer(self.pids, 1, 4096), "pids")
        self.cpu = raw.get("cpu_percent", 100)
        need(integer(self.cpu, 1, 100), "cpu_percent")
        self.ports = raw.get("ports", {})
        need(isinstance(self.ports, dict), "ports is no object")
        need(all(port(k) and integer(v, 1, 65535) for k, v in self.ports.items()), "ports")
        self.reach = raw.get("reach", {})
        need(isinstance(self.reach, dict), "reach is no object")
        for own, target in self.reach.items():
            need(port(own) and isinstance(target, str), "reach")
            name, _, number = target.partition(":")
            need(NAME.fullmatch(name) and port(number), "reach")
        self.volumes = raw.get("volumes", {})
        need(isinstance(self.volumes, dict), "volumes is no object")
        for name, path in self.volumes.items():
            need(NAME.fullmatch(name) and isinstance(path, str), "volumes")
            need(path.startswith("/") and path.strip("/") and "\0" not in path, "volumes")
            need(".." not in path.split("/"), "volumes")


def texts(value):
    return isinstance(value, list) and all(isinstance(v, str) and "\0" not in v for v in value)
