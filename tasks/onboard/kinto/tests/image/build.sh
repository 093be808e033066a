#!/bin/sh
# The services that the verifier plays.
set -eu
printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
mkdir -p /etc/postgresql-common
echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
    postgresql python3-aiosmtpd redis-server
apt-get clean
rm -rf /var/lib/apt/lists/* /usr/sbin/policy-rc.d
