"""Makes the broker's configuration of the site's settings, where HERE is."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path("/run/mosquitto")
PASSWD = "/usr/local/bin/mosquitto_passwd"
PLUGIN = "/usr/local/lib/mosquitto/mosquitto_holm_seal.so"
STATE = "/var/lib/mosquitto/"

# What a role may do; NAME is the user's.
ROLES = {
    "station": ["write stations/NAME/#", "read commands/NAME/#", "read notes/#"],
    "operator": [
        "read stations/#",
        "write commands/#",
        "readwrite notes/#",
        "read $SYS/broker/#",
    ],
    "viewer": ["read stations/#", "read notes/#"],
}


def access(users: list[tuple[str, str, str]]) -> str:
    lines = []
    for name, role, _ in users:
        lines.append(f"user {name}")
        lines += [f"topic {rule.replace('NAME', name)}" for rule in ROLES[role]]
    return "\n".join(lines) + "\n"


def bridge(told: dict[str, str], name: str, *lines: str) -> list[str]:
    return [
        "",
        f"connection {name}",
        f"address {told['OFFICE_HOST']}:{told['OFFICE_PORT']}",
        f"bridge_cafile {HERE}/office-ca.pem",
        f"remote_username {told['OFFICE_USER']}",
        f"remote_password {told['OFFICE_PASSWORD']}",
        f"remote_clientid holm-{told['SITE']}-{name}",
        f"local_clientid bridge-{name}",
        "notifications false",
        "keepalive_interval 20",
        "restart_timeout 2 10",
        *lines,
    ]


def configuration(told: dict[str, str]) -> str:
    there = f'"" sites/{told["SITE"]}/'
    lines = [
        "listener 8883",
        f"certfile {HERE}/broker.crt",
        f"keyfile {HERE}/broker.key",
        "allow_anonymous false",
        f"password_file {HERE}/passwords",
        f"acl_file {HERE}/access",
        "persistence true",
        f"persistence_location {STATE}",
        "autosave_interval 10",
        "message_size_limit 65536",
        "max_queued_messages 20000",
        "log_dest stderr",
        f"plugin {PLUGIN}",
        "plugin_opt_prefix commands/",
        f"plugin_opt_key_file {HERE}/seal.key",
    ]
    # Only MQTT 5 carries seals, and only without it is the session kept that notes wait in.
    lines += bridge(
        told,
        "office",
        "cleansession false",
        f"topic stations/# out 1 {there}",
        f"topic notes/# in 1 {there}",
    )
    lines += bridge(
        told, "commands", "bridge_protocol_version mqttv50", f"topic commands/# in 1 {there}"
    )
    return "\n".join(lines) + "\n"


def main() -> None:
    os.umask(0o077)
    lines = (HERE / "settings.env").read_text().splitlines()
    told = dict(line.split("=", 1) for line in lines if "=" in line)
    users = []
    for line in (HERE / "users").read_text().splitlines():
        name, role, password = line.split(":", 2)
        users.append((name, role, password))
    (HERE / "seal.key").write_text(told["SEAL_KEY"])
    (HERE / "access").write_text(access(users))
    (HERE / "passwords").write_text("".join(f"{n}:{p}\n" for n, _, p in users))
    subprocess.run([PASSWD, "-U", str(HERE / "passwords")], check=True)
    (HERE / "mosquitto.conf").write_text(configuration(told))
    for name in ("settings.env", "users"):
        (HERE / name).unlink()


if len(sys.argv) > 1:
    # A trial elsewhere.
    HERE, PASSWD, PLUGIN, STATE = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
main()
