#!/bin/sh
# The broker that the verifier plays, and its clients.
set -eu
printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends mosquitto python3-paho-mqtt
apt-get clean
rm -rf /var/lib/apt/lists/* /usr/sbin/policy-rc.d
