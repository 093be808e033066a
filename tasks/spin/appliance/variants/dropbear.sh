#!/bin/bash
# Another SSH server (Dropbear), and a partition for /data that the image does not have: the first start makes it.
set -eu
cat >/tmp/changes <<'CHANGES'
put 755 /usr/lib/appliance/host-key <<'SCRIPT'
#!/bin/sh
set -e
[ -s /data/system/ssh/key ] && exit 0
rm -rf /data/system/ssh.new /data/system/ssh
mkdir -p /data/system/ssh.new
dropbearkey -t ed25519 -f /data/system/ssh.new/key
sync
mv /data/system/ssh.new /data/system/ssh
sync
SCRIPT
put 644 /etc/systemd/system/dropbear.service <<'UNIT'
[Unit]
Requires=host-key.service
After=host-key.service

[Service]
ExecStart=/usr/sbin/dropbear -F -E -s -r /data/system/ssh/key -p 22
KillMode=process
Restart=always

[Install]
WantedBy=multi-user.target
UNIT
chroot "$root" systemctl --quiet enable dropbear.service
sed -i '/^for data in /i \
[ -b "${disk}3" ] || [ -b "${disk}p3" ] || {\
	sfdisk --quiet --no-reread --no-tell-kernel --relocate gpt-bak-std "$disk"\
	echo "size=+, type=linux, name=data" | sfdisk --quiet --append --no-reread --no-tell-kernel "$disk"\
	sync\
	partx -a --nr 3 "$disk"\
	sleep 1\
}' "$root/etc/initramfs-tools/scripts/local-bottom/appliance"
CHANGES
sed -e 's/openssh-server,/dropbear-bin,/' -e 's/systemd-networkd.service ssh.service/systemd-networkd.service/' \
	-e '/^size=${data_mb}MiB, type=linux/d' -e 's/^for part in esp system data; do$/for part in esp system; do/' \
	-e 's|"$root"/etc/ssh/ssh_host_\*||' /solution/solve.sh >/tmp/solve.sh
LOCAL_CHANGES=/tmp/changes bash /tmp/solve.sh
