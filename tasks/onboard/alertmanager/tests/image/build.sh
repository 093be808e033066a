#!/bin/sh
# The mail server that the verifier plays.
set -eu
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends python3-aiosmtpd
apt-get clean
rm -rf /var/lib/apt/lists/*
