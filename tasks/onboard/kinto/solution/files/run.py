"""Starts Kinto from the settings disk: waits for the services, makes tables and the account."""

import os
import socket
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

INI = "/run/kinto/kinto.ini"
TEMPLATE = """\
[app:main]
use = egg:kinto
kinto.includes = kinto.plugins.accounts kinto_emailer collection_digest
kinto.storage_backend = kinto.core.storage.postgresql
kinto.storage_url = {DATABASE_URL}
kinto.permission_backend = kinto.core.permission.postgresql
kinto.permission_url = {DATABASE_URL}
kinto.cache_backend = kinto.core.cache.redis
kinto.cache_url = {CACHE_URL}
kinto.userid_hmac_secret = {HMAC_SECRET}
multiauth.policies = account
multiauth.policy.account.use = kinto.plugins.accounts.AccountsPolicy
kinto.account_create_principals = account:admin
kinto.account_write_principals = account:admin
kinto.bucket_create_principals = account:admin
mail.host = {MAIL_HOST}
mail.port = {MAIL_PORT}
mail.username = {MAIL_USER}
mail.password = {MAIL_PASSWORD}
mail.default_sender = {MAIL_FROM}
collection_digest.key = {DIGEST_KEY}
"""


def wait_for(*addresses: tuple[str, int]) -> None:
    for address in addresses:
        while True:
            try:
                socket.create_connection(address, 5).close()
                break
            except OSError:
                time.sleep(1)


def main() -> None:
    lines = Path("/run/kinto/settings.env").read_text().splitlines()
    told = dict(line.split("=", 1) for line in lines if "=" in line and line[0] != "#")
    values = {key: value.replace("%", "%%") for key, value in told.items()}
    os.umask(0o077)
    Path(INI).write_text(TEMPLATE.format(**values))
    database, cache = urlsplit(told["DATABASE_URL"]), urlsplit(told["CACHE_URL"])
    wait_for(
        (database.hostname, database.port or 5432),
        (cache.hostname, cache.port or 6379),
        (told["MAIL_HOST"], int(told["MAIL_PORT"])),
    )

    import waitress
    from kinto.core import scripts
    from kinto.plugins.accounts.scripts import create_user
    from pyramid.paster import bootstrap

    env = bootstrap(INI, options={"command": "migrate"})
    scripts.migrate(env)
    if create_user(env, "admin", told["ADMIN_PASSWORD"]):
        sys.exit("the account admin could not be made")
    app = env["app"]
    env["closer"]()
    waitress.serve(app, listen="0.0.0.0:8888", threads=4)


main()
