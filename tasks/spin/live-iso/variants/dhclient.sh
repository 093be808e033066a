#!/bin/bash
# dhclient with a configuration that says nothing, iptables in place of nft, our whole disk mounted for root alone with the folder bound from there, other modes.
set -euo pipefail
cp -r /solution /tmp/dhclient
python3 - <<'PY'
path = "/tmp/dhclient/solve.sh"
text = open(path).read()
def put(old, new):
    global text
    assert old in text, old
    text = text.replace(old, new)
put("cache=/var/tmp/expo-cache", "cache=/var/tmp/expo-cache-dhclient")
put("dbus kmod nftables kbd", "dbus kmod iptables isc-dhcp-client kbd")
put("systemd-networkd.service nftables.service wall.service", "expo-line.service wall.service")
put("sed -i '/hook output/s/policy drop/policy accept/' \"$root/etc/nftables.conf\"",
    "sed -i 's/-P OUTPUT DROP/-P OUTPUT ACCEPT/' \"$root/usr/sbin/expo-line\"")
open(path, "w").write(text)
root = "/tmp/dhclient/rootfs"
import os
os.remove(f"{root}/etc/nftables.conf")
open(f"{root}/usr/sbin/expo-line", "w").write("""#!/bin/sh
set -e
for table in iptables $([ ! -e /proc/net/if_inet6 ] || echo ip6tables); do
	for chain in INPUT FORWARD OUTPUT; do $table -P $chain DROP; done
	$table -A INPUT -i lo -j ACCEPT
	$table -A OUTPUT -o lo -j ACCEPT
done
iptables -A INPUT -p udp --sport 67 --dport 68 -j ACCEPT
iptables -A OUTPUT -p udp --sport 68 --dport 67 -j ACCEPT
iptables -A INPUT -p tcp --dport 7400 -j ACCEPT
iptables -A OUTPUT -p tcp --sport 7400 -m conntrack --ctstate ESTABLISHED -j ACCEPT
udevadm settle
for card in /sys/class/net/e*; do
	exec dhclient -4 -d -cf /etc/expo-dhclient.conf -lf /run/expo-leases ${card##*/}
done
""")
open(f"{root}/etc/expo-dhclient.conf", "w").write("request subnet-mask, broadcast-address, routers;\ntimeout 300;\n")
open(f"{root}/etc/systemd/system/expo-line.service", "w").write("""[Unit]
Description=The line
DefaultDependencies=no
After=systemd-udev-trigger.service sysinit.target
Before=wall.service

[Service]
ExecStart=/usr/sbin/expo-line
Restart=always
RestartSec=5

[Install]
WantedBy=multi-user.target
""")
state = open(f"{root}/usr/sbin/expo-state").read()
old = """mount --bind $state/wall $place && mount -o remount,bind,nosuid,nodev,noexec $place || damaged "no mount"
umount $state
"""
assert old in state
state = state.replace(old, """mount --bind $state/wall $place || damaged "no mount"
""").replace("-o nosuid,nodev,noexec,noatime", "-o nosuid,nodev").replace("chmod 640", "chmod 600").replace("chmod 750", "chmod 700")
open(f"{root}/usr/sbin/expo-state", "w").write(state)
PY
sed -i 's|chmod 755 "$root/etc/initramfs-tools/hooks/expo"|& "$root/usr/sbin/expo-line"|' /tmp/dhclient/solve.sh
bash /tmp/dhclient/solve.sh
