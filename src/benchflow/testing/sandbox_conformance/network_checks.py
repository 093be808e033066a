"""network: none means none; with a network, the host's own services are still out of reach."""

from __future__ import annotations

import secrets
import socket

from harbor.environments.base import BaseEnvironment

from benchflow.sandbox.image.mirror import codename, debian_sources, machine_sources
from benchflow.testing.sandbox_conformance.catalogue import check
from benchflow.testing.sandbox_conformance.outcome import NotApplicable, expect
from benchflow.testing.sandbox_conformance.rig import Rig, accepted, listener, text

# The addresses by which sandboxes and containers usually reach their host.
_HOST_NAMES = ("127.0.0.1", "10.0.2.2", "host.docker.internal", "gateway.docker.internal")


async def _offline(rig: Rig) -> BaseEnvironment:
    if rig.default_network() != "no-network":
        raise NotApplicable("the environment cannot do without a network")
    return await rig.env("no-network")


async def _online(rig: Rig) -> BaseEnvironment:
    return await rig.env("public")


async def _knock(environment: BaseEnvironment, addresses: tuple[str, ...], port: int) -> str:
    attempts = "; ".join(
        f"timeout 3 bash -c 'exec 3<>/dev/tcp/{address}/{port}' 2>/dev/null && echo {address}"
        for address in addresses
    )
    return (await environment.exec(f"{attempts}; true", timeout_sec=60)).stdout or ""


async def _host_loopback_unreachable(environment: BaseEnvironment) -> None:
    with listener(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reached = await _knock(environment, _HOST_NAMES, port)
        expect(not accepted(server), f"somebody inside reached it by {reached.strip()!r}")
        with socket.create_connection(("127.0.0.1", port)):
            expect(accepted(server), "the bait itself does not work")


@check
async def network__none_has_no_route(rig: Rig) -> None:
    """Without a network there is no interface but loopback, and no route"""
    environment = await _offline(rig)
    shown = (await environment.exec("tail -n +3 /proc/net/dev | cut -d: -f1")).stdout or ""
    names = set(shown.split()) - {"lo", "tunl0", "sit0", "ip6tnl0", "gre0", "gretap0", "erspan0"}
    expect(not names, f"interfaces: {', '.join(sorted(names))}")
    routes = (await environment.exec("tail -n +2 /proc/net/route")).stdout or ""
    expect(not routes.strip(), f"routes: {routes.strip()}")


@check
async def network__none_reaches_nothing(rig: Rig) -> None:
    """Without a network neither an address nor a name of the world outside is reachable"""
    environment = await _offline(rig)
    reached = await _knock(environment, ("1.1.1.1", "8.8.8.8"), 53)
    expect(not reached, f"reached {reached.strip()}")
    result = await environment.exec("timeout 5 getent hosts deb.debian.org", timeout_sec=30)
    expect(result.return_code != 0, f"a name resolves: {text(result).strip()}")


@check
async def network__none_has_loopback(rig: Rig) -> None:
    """Without a network, programs inside still talk over 127.0.0.1"""
    environment = await _offline(rig)
    program = (
        'my $s=IO::Socket::INET->new(Listen=>1,LocalAddr=>"127.0.0.1") or die; '
        'if(fork){my $c=$s->accept; print $c "hello\\n"; close $c; wait} '
        'else{my $c=IO::Socket::INET->new(PeerAddr=>"127.0.0.1",PeerPort=>$s->sockport) or die;'
        "print scalar <$c>}"
    )
    result = await environment.exec(f"perl -MIO::Socket::INET -e '{program}'", timeout_sec=20)
    expect((result.stdout or "") == "hello\n", f"got {text(result)!r}")


@check
async def network__none_hides_host_loopback(rig: Rig) -> None:
    """Without a network, a service on the host's 127.0.0.1 is unreachable"""
    await _host_loopback_unreachable(await _offline(rig))


@check
async def network__user_reaches_the_mirror(rig: Rig) -> None:
    """With a network, the machine's package mirror answers"""
    environment = await _online(rig)
    source = debian_sources("bookworm", machine_sources(), codename())[0]
    address = source.line().split("http", 1)[1].split()[0]
    url = f"http{address.rstrip('/')}/dists/bookworm/Release"
    result = await environment.exec(
        f"/usr/lib/apt/apt-helper download-file {url} /srv/c/release && head -c 300 /srv/c/release",
        user="root",
        timeout_sec=int(120 * rig.patience),
    )
    if result.return_code and "No such file" in text(result) and "apt-helper" in text(result):
        raise NotApplicable("the image has no apt")
    expect("Origin: Debian" in text(result), f"no: {text(result)[-200:]}")


@check
async def network__user_hides_host_loopback(rig: Rig) -> None:
    """With a network, a service on the host's 127.0.0.1 is still unreachable"""
    await _host_loopback_unreachable(await _online(rig))


async def _abstract_unreachable(rig: Rig, environment: BaseEnvironment) -> None:
    name = f"benchflow-{secrets.token_hex(8)}"
    with listener(f"\0{name}") as server:
        program = (
            "socket(my $s,1,1,0) or die; "
            f'print connect($s, pack("S a*", 1, "\\0{name}")) ? "in" : "out"'
        )
        result = await environment.exec(f"perl -e '{program}'")
        expect((result.stdout or "") == "out" and not accepted(server), "it was reached")


@check
async def network__abstract_sockets(rig: Rig) -> None:
    """An abstract unix socket of the host's is unreachable, with a network and without"""
    await _abstract_unreachable(rig, await rig.env())
    await _abstract_unreachable(rig, await _online(rig))


@check
async def network__path_sockets(rig: Rig) -> None:
    """A unix socket in the host's file system is unreachable"""
    path = rig.scratch("socket") / "s"
    with listener(str(path)) as server:
        path.chmod(0o777)
        program = (
            "socket(my $s,1,1,0) or die; "
            f'print connect($s, pack("S a*", 1, "{path}")) ? "in" : "out"'
        )
        shown = await rig.out(f"perl -e '{program}'")
        expect(shown == "out" and not accepted(server), "it was reached")
