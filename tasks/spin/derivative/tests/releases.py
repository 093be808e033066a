"""What the letter says is in each release."""

from __future__ import annotations

ALKE = {"holm-archive-keyring": "1.1", "holm-base": "1.0", "holm-tally": "1.0", "holm-tools": "1.0",
        "holm-relay": "1.0", "hello": "2.9-1holm1"}  # fmt: skip
BRIS = {"holm-archive-keyring": "2.0", "holm-base": "2.0", "holm-registry": "2.0",
        "holm-tools": "2.0", "holm-clock": "2.0", "hello": "2.9-1holm2"}  # fmt: skip
# Debian 12's packages, which no point release has changed.
DEBIAN = {
    "hello": "2e6e2f1a0007dc43bc91c273fd36e91e40a4f1c2765a03eca68b70a42103878a",
    "bc": "baaa4e935c5e3bcd57d4f2f4e7a1ddc67bd4eb8629d98f97a696548849ae01ac",
}
