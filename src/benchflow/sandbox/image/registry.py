"""What a registry has, asked over its own protocol, and the credentials that it takes.

Credentials are read where podman, buildah and Docker keep them. They are written nowhere. What a
registry answers is bounded and made plain before it is shown.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from benchflow.base.text import one_line
from benchflow.errors import InfrastructureError, UsageError

#: HOST[:PORT]/PATH, as the distribution spec has names: lower case, no tag.
_PREFIX = re.compile(r"[a-z0-9.-]+(:\d+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+")
_LOOPBACK = re.compile(r"(localhost|127\.\d+\.\d+\.\d+)(:\d+)?")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_MOST_BYTES = 4 * 1024 * 1024
_SECONDS = 30.0  # without a byte
_SECONDS_IN_ALL = 120.0
#: What reading an answer raises, whatever is in it.
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
LOG_IN = (
    "log in: buildah login, podman login or docker login (a file without a credential helper); "
    "REGISTRY_AUTH_FILE names another file"
)


def check_prefix(prefix: str) -> str:
    """`prefix` as it is, where images can have names below it. Raises UsageError."""
    if not _PREFIX.fullmatch(prefix):
        raise UsageError(
            f"--images {prefix}: no images can be named so",
            hint="write REGISTRY/PREFIX in lower case, such as localhost:5000/benchflow",
        )
    return prefix


@dataclass(frozen=True)
class Remote:
    """An image as a registry has it: `digest` of its manifest, and its labels."""

    digest: str
    labels: Mapping[str, str]


class Repository:
    """One name in a registry, HOST[:PORT]/PATH. All raise InfrastructureError where it fails."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._host, _, self._path = name.partition("/")
        self.is_loopback = bool(_LOOPBACK.fullmatch(self._host))
        scheme = "http" if self.is_loopback else "https"
        host = "registry-1.docker.io" if self._host == "docker.io" else self._host
        self._base = f"{scheme}://{host}/v2/{self._path}"
        self._token = ""
        self._opener = _opener(self.is_loopback)

    def find(self, reference: str) -> Remote | None:
        """The image under a tag or a digest; None when there is none."""
        found = self._get(f"manifests/{reference}", {"Accept": _MANIFEST})
        if found is None:
            return None
        body, digest = found
        try:
            config = json.loads(body)["config"]["digest"]
            _check(body, digest)
            read = self._get(f"blobs/{config}", {}) if _DIGEST.fullmatch(config) else None
            if read is None:
                return Remote(digest, {})
            _check(read[0], config)
            labels = (json.loads(read[0]).get("config") or {}).get("Labels") or {}
            return Remote(digest, {str(key): str(value) for key, value in labels.items()})
        except _UNREADABLE as error:
            raise InfrastructureError(
                f"{self.name}:{reference} in the registry is no image of this kind",
                hint="choose another prefix, or remove it there",
            ) from error

    def tags(self) -> list[str]:
        """The tags that it has, sorted; empty when nothing was pushed there."""
        found = self._get("tags/list", {})
        try:
            tags = [str(tag) for tag in json.loads(found[0])["tags"] or ()] if found else []
            return sorted(tag for tag in tags if _TAG.fullmatch(tag))
        except _UNREADABLE as error:
            raise InfrastructureError(f"{self.name}: the registry's list is unreadable") from error

    def credentials(self) -> str:
        """A credentials file with what this registry takes, as text; "" when there is none."""
        key, auth = _credentials(self._host, self._path)
        return json.dumps({"auths": {key: {"auth": auth}}}) if auth else ""

    def _get(self, path: str, headers: dict[str, str]) -> tuple[bytes, str] | None:
        """Body and digest; None where there is nothing of that name."""
        for last in (False, True):
            request = urllib.request.Request(f"{self._base}/{path}", headers=headers)
            if self._token:
                request.add_unredirected_header("Authorization", self._token)
            try:
                with self._opener.open(request, timeout=_SECONDS) as answer:
                    body = _read(answer)
                    return body, answer.headers.get("Docker-Content-Digest", "")
            except urllib.error.HTTPError as error:
                error.close()
                if error.code == 404:
                    return None
                if error.code == 401 and not last:
                    self._token = self._log_in(error.headers.get("WWW-Authenticate", ""))
                    continue
                raise refused(self.name, f"status {error.code}: {error.reason}") from error
            except (OSError, ValueError, http.client.HTTPException) as error:
                said = str(getattr(error, "reason", error)) or type(error).__name__
                raise refused(self.name, said) from error
        raise AssertionError("not reached")

    def _log_in(self, challenge: str) -> str:
        """What goes into Authorization, by what the registry asked for."""
        _, auth = _credentials(self._host, self._path)
        scheme, _, rest = challenge.partition(" ")
        if scheme.lower() == "basic":
            if not auth:
                raise refused(self.name, "authentication required, and no credentials for it here")
            return f"Basic {auth}"
        asked = dict(re.findall(r'(\w+)="([^"]*)"', rest))
        query = {"service": asked.get("service", ""), "scope": f"repository:{self._path}:pull"}
        realm = asked.get("realm", "")
        if not self._may_ask(realm):
            raise refused(self.name, "unauthorized, and no place to ask for a token")
        request = urllib.request.Request(f"{realm}?{urllib.parse.urlencode(query)}")
        if auth:
            request.add_unredirected_header("Authorization", f"Basic {auth}")
        try:
            with self._opener.open(request, timeout=_SECONDS) as answer:
                told = json.loads(_read(answer))
            return f"Bearer {told.get('token') or told['access_token']}"
        except (OSError, http.client.HTTPException, *_UNREADABLE) as error:
            raise refused(self.name, f"unauthorized, no token was given: {error}") from error

    def _may_ask(self, realm: str) -> bool:
        """Whether credentials may go there: encrypted, or from a registry here to a place here."""
        place = urllib.parse.urlsplit(realm)
        here = self.is_loopback and bool(_LOOPBACK.fullmatch(place.netloc))
        return bool(place.netloc) and (place.scheme == "https" or (place.scheme == "http" and here))


def _read(answer: IO[bytes]) -> bytes:
    """The body, as much of it as is bounded. Raises TimeoutError for one that drips."""
    until = time.monotonic() + _SECONDS_IN_ALL
    body = b""
    while len(body) < _MOST_BYTES and (piece := answer.read1(_MOST_BYTES - len(body))):  # type: ignore[attr-defined]
        body += piece
        if time.monotonic() > until:
            raise TimeoutError(f"timed out: no end after {_SECONDS_IN_ALL:.0f} seconds")
    return body


def _check(content: bytes, digest: str) -> None:
    """Raises ValueError unless `content` is what `digest` says."""
    if not _DIGEST.fullmatch(digest):
        raise ValueError("no digest")
    if f"sha256:{hashlib.sha256(content).hexdigest()}" != digest:
        raise ValueError("its content is not what its digest says")


class _Redirects(urllib.request.HTTPRedirectHandler):
    """What was asked for encrypted is not fetched otherwise."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        if urllib.parse.urlsplit(newurl).scheme not in {"https", req.type}:
            raise ValueError("it redirects to a place without encryption")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@cache
def _opener(is_loopback: bool) -> urllib.request.OpenerDirector:
    """One for all, because reading the machine's certificates takes long."""
    # What is on this machine is not behind its proxy.
    handlers = [urllib.request.ProxyHandler({})] if is_loopback else []
    return urllib.request.build_opener(_Redirects, *handlers)


#: What registries say, in the words of their clients, what it means, and what to do about it.
_REFUSALS = (
    (r"unauthorized|authentication required|denied|no basic auth|status 40[13]",
     "refuses you", LOG_IN),
    (r"\b413\b|too large|exceeds", "takes no layer as large as this", "raise its limit"),
    (r"no space left|insufficient storage|\b507\b", "has no room", "make room there"),
    (r"\b50[0-9]\b|blob upload (invalid|unknown)", "failed at its end, as a full one does",
     "look at its disk and its log, then call this again"),
    (r"refused|no such host|not known|timeout|timed out|unreachable|EOF|reset|broken pipe|closed",
     "does not answer, or was cut off",
     "see whether it runs, and call this again: layers that arrived are not sent twice"),
)  # fmt: skip


def refused(name: str, said: str) -> InfrastructureError:
    """The error for what a registry (or its client) said of the image `name`."""
    told = one_line(re.sub(r"\?[^\s\"]+", "", said[-4000:]), 600)  # without what URLs carry
    for words, what, hint in _REFUSALS:
        if re.search(words, told, re.IGNORECASE):
            return InfrastructureError(f"the registry {what}: {name}: {told}", hint=hint)
    return InfrastructureError(f"{name} was not pushed: {told}", hint="call this again")


def _credentials(host: str, path: str) -> tuple[str, str]:
    """Key and base64 of USER:PASSWORD, from the first file that has them; the longest key wins."""
    whole = f"{host}/{path}"
    for place in _places():
        auths = _auths(place)
        named = {re.sub(r"^https?://|/v[12]/?$", "", key): key for key in auths}
        if host == "docker.io" and "index.docker.io" in named:
            named["docker.io"] = named["index.docker.io"]
        fitting = [key for key in named if f"{whole}/".startswith(f"{key.rstrip('/')}/")]
        for key in sorted(fitting, key=len, reverse=True):
            entry = auths[named[key]]
            if isinstance(entry, dict) and isinstance(auth := entry.get("auth"), str) and auth:
                return key, auth
    return "", ""


def _places() -> list[Path]:
    """Where credentials lie, in the order of containers-auth.json(5)."""
    env = os.environ
    if named := env.get("REGISTRY_AUTH_FILE"):
        return [Path(named)]
    runtime = env.get("XDG_RUNTIME_DIR")
    config = env.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    docker = env.get("DOCKER_CONFIG") or Path.home() / ".docker"
    user = [Path(runtime) / "containers/auth.json"] if runtime else []
    return [*user, Path(config) / "containers/auth.json", Path(docker) / "config.json"]


def _auths(place: Path) -> dict[str, Any]:
    try:
        auths = json.loads(place.read_text(encoding="utf-8")).get("auths") or {}
        return dict(auths)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise InfrastructureError(
            f"{place}: these credentials cannot be read", hint=LOG_IN
        ) from error
