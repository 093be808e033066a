#!/bin/bash
# Slow to come back and to notice a hang; a firewall that rejects, loopback too; no IPv6; three kinds of host keys; other words and places.
set -eu
cat >/tmp/changes <<'CHANGES'
sed -i 's/^RestartSec=.*/RestartSec=8s/; s/^WatchdogSec=.*/WatchdogSec=40s/' \
	"$root/etc/systemd/system/skerryd.service.d/supervision.conf"
sed -i 's|^ExecStart=/usr/bin/skerryd|ExecStartPre=/bin/sleep 1\n&|' "$root/etc/systemd/system/skerryd.service"
sed -i -e '/iif lo accept/d' -e 's/^		icmp type .*/&\n		meta l4proto tcp reject with tcp reset\n		reject/' "$root/etc/nftables.conf"
echo net.ipv6.conf.all.disable_ipv6=1 | put 644 /etc/sysctl.d/appliance.conf
sed -i "s|^ssh-keygen .*|for t in ed25519 ecdsa rsa; do ssh-keygen -q -t \$t -N '' -C '' -f $keys.new/ssh_host_\${t}_key; done|" \
	"$root/usr/lib/appliance/host-key"
printf 'HostKey %s/ssh_host_ecdsa_key\nHostKey %s/ssh_host_rsa_key\n' $keys $keys >>"$root/etc/ssh/sshd_config.d/appliance.conf"
printf 'Compress=yes\n' >>"$root/etc/systemd/journald.conf.d/appliance.conf"
printf '\nThis is the %s: %s. Release 2.3 of the Skerry Logbook\n\\n ' unit SK-48213-7f41c0d9 >"$root/etc/issue"
printf '%s | %s | Skerry Logbook\n' SK-48213-7f41c0d9 2.3 >"$root/etc/motd"
sed -i "s/^NAME=.*/NAME='Skerry Logbook'/; s/^VERSION_ID=.*/VERSION_ID=2.3/" "$root/usr/lib/os-release"
sed -i 's/0700 skerry skerry/0755 skerry skerry/' "$root/etc/tmpfiles.d/skerry.conf"
CHANGES
sed -e 's|::/appliance/$|::/|' -e 's| ::/appliance$||' \
	-e "s|echo 'linux /appliance/vmlinuz'|printf 'linux\\\\t/VMLINUZ  \\\\n'|" \
	-e "s|echo 'initrd /appliance/initrd.img'|printf 'initrd\\\\t/initrd.img\\\\n'|" \
	-e 's|ssh_host_ed25519_key \] \&\&|ssh_host_rsa_key ] \&\&|' /solution/solve.sh >/tmp/solve.sh
LOCAL_CHANGES=/tmp/changes bash /tmp/solve.sh
