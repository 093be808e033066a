"""Makes Alertmanager's configuration, the web's and amtool's from the site's settings."""

import contextlib
import crypt
import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

HERE, DUTY, NETWORK = Path("/run/alertmanager"), Path("/run/amtool"), Path("/run/systemd/network")
NAME = "alerts.holm.example"
CA = {"ca_file": str(HERE / "ca.pem")}


def webhook(url: str, http: dict[str, object], **more: object) -> list[dict[str, object]]:
    return [{"url": url, "send_resolved": True, "http_config": {"tls_config": CA, **http}, **more}]


def configuration(told: dict[str, str]) -> dict[str, object]:
    pager = {
        "client_id": told["PAGER_CLIENT_ID"],
        "client_secret": told["PAGER_CLIENT_SECRET"],
        "token_url": told["PAGER_TOKEN_URL"],
        "scopes": told["PAGER_SCOPE"].split(),
        "tls_config": CA,
    }
    tickets = {"username": told["TICKET_USER"], "password": told["TICKET_PASSWORD"]}
    audit = {"type": "Bearer", "credentials": told["AUDIT_TOKEN"]}
    mail = {
        "to": told["SMTP_TO"],
        "from": told["SMTP_FROM"],
        "smarthost": f"{told['SMTP_HOST']}:{told['SMTP_PORT']}",
        "auth_username": told["SMTP_USER"],
        "auth_password": told["SMTP_PASSWORD"],
        "require_tls": True,
        "tls_config": CA,
        "send_resolved": True,
    }
    return {
        "route": {
            "receiver": "mail",
            "group_by": ["alertname", "site"],
            "group_wait": "5s",
            "group_interval": "15s",
            "repeat_interval": "12h",
            "routes": [
                {"receiver": "audit", "continue": True},
                {"receiver": "pager", "matchers": ['severity="page"']},
                {"receiver": "tickets", "matchers": ['team="db"']},
                {"receiver": "mail"},
            ],
        },
        "inhibit_rules": [
            {
                "source_matchers": ['severity="page"'],
                "target_matchers": ['severity="info"'],
                "equal": ["site"],
            }
        ],
        "receivers": [
            {
                "name": "audit",
                "webhook_configs": webhook(told["AUDIT_URL"], {"authorization": audit}),
            },
            {"name": "pager", "webhook_configs": webhook(told["PAGER_URL"], {"oauth2": pager})},
            {
                "name": "tickets",
                "webhook_configs": webhook(
                    told["TICKET_URL"], {"basic_auth": tickets}, signing_key_file="signing.key"
                ),
            },
            {"name": "mail", "email_configs": [mail]},
        ],
    }


def write(path: Path, data: str, owner: str = "alertmanager") -> None:
    path.write_text(data)
    shutil.chown(path, owner, owner)


def main() -> None:
    os.umask(0o077)
    lines = (HERE / "settings.env").read_text().splitlines()
    told = dict(line.split("=", 1) for line in lines if "=" in line)
    write(HERE / "signing.key", told["SIGNING_KEY"])
    write(HERE / "alertmanager.yml", json.dumps(configuration(told)))
    salt = crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=1 << 8)
    web = {
        "tls_server_config": {"cert_file": "web.crt", "key_file": "web.key"},
        "basic_auth_users": {"duty": crypt.crypt(told["WEB_PASSWORD"], salt)},
    }
    write(HERE / "web.yml", json.dumps(web))

    DUTY.mkdir(exist_ok=True)
    shutil.chown(DUTY, "duty", "duty")
    shutil.copy(HERE / "ca.pem", DUTY / "ca.pem")
    shutil.chown(DUTY / "ca.pem", "duty", "duty")
    http = {
        "basic_auth": {"username": "duty", "password": told["WEB_PASSWORD"]},
        "tls_config": {"ca_file": str(DUTY / "ca.pem"), "server_name": NAME},
    }
    write(DUTY / "http.yml", json.dumps(http), "duty")
    amtool = {
        "alertmanager.url": "https://127.0.0.1:9093",
        "http.config.file": str(DUTY / "http.yml"),
    }
    write(DUTY / "config.yml", json.dumps(amtool), "duty")

    words = [
        f"--config.file={HERE}/alertmanager.yml",
        f"--web.config.file={HERE}/web.yml",
        "--web.listen-address=:9093",
        f"--web.external-url=https://{NAME}:9093/",
        "--storage.path=/var/lib/alertmanager",
        "--data.maintenance-interval=10s",
    ]
    network = NETWORK / "10-cluster.network"
    if told.get("CLUSTER_MAC"):
        card = (
            f"[Match]\nMACAddress={told['CLUSTER_MAC']}\n\n"
            f"[Network]\nAddress={told['CLUSTER_ADDRESS']}\nLinkLocalAddressing=no\n"
        )
        if not network.exists() or network.read_text() != card:
            NETWORK.mkdir(parents=True, exist_ok=True)
            network.write_text(card)
            NETWORK.chmod(0o755)
            network.chmod(0o644)
            # Without D-Bus nothing else has it read its files again.
            subprocess.run(["systemctl", "restart", "systemd-networkd.service"], check=False)
        own = told["CLUSTER_ADDRESS"].partition("/")[0]
        wait_for_address(own)
        words += [
            f"--cluster.listen-address={own}:9094",
            f"--cluster.advertise-address={own}:9094",
            f"--cluster.peer={told['CLUSTER_PEER']}:9094",
        ]
    else:
        network.unlink(missing_ok=True)
        words.append("--cluster.listen-address=")
    write(HERE / "words", " ".join(words))


def wait_for_audit() -> None:
    """What a careful person might do, and must not: the ladder's solution without `late` does."""
    told = (HERE / "settings.env").read_text().partition("AUDIT_URL=https://")[2]
    host, _, port = told.partition("/")[0].partition(":")
    while True:
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 5):
            return
        time.sleep(1)


def wait_for_address(own: str) -> None:
    ask = 'until ip -o address | grep -qF " $1/"; do sleep 0.5; done'
    subprocess.run(["timeout", "60", "sh", "-c", ask, "sh", own], check=False)


main()
