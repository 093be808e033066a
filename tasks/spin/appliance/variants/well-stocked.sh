#!/bin/bash
# More of Debian than is needed (sudo, D-Bus, cron, ping, libcap), the service started by a script, ids of other sizes.
set -eu
cat >/tmp/changes <<'CHANGES'
rm -rf "$root/usr/include" # sudo and iproute2 bring headers
ln -s busybox "$root/usr/bin/wget" # what busybox can do besides is no concern of theirs
chroot "$root" usermod -u 4711 skerry
chroot "$root" groupmod -g 4712 skerry
chroot "$root" adduser --quiet --system --group --home /nonexistent --no-create-home lamp
put 755 /usr/lib/appliance/run <<'SCRIPT'
#!/bin/sh
umask 027
exec /usr/bin/skerryd
SCRIPT
sed -i 's|^ExecStart=/usr/bin/skerryd|ExecStart=/usr/lib/appliance/run|' "$root/etc/systemd/system/skerryd.service"
CHANGES
sed -e 's/--include=e2fsprogs,/--include=adduser,sudo,dbus,cron,iputils-ping,iproute2,libcap2-bin,e2fsprogs,/' \
	/solution/solve.sh >/tmp/solve.sh
LOCAL_CHANGES=/tmp/changes bash /tmp/solve.sh
