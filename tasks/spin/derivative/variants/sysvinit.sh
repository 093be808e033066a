#!/bin/bash
# No systemd: sysvinit with a table of our own starts and watches the service, udhcpc asks for the address, there is no udev.
set -eu
work=$(mktemp -d)
cp -r /solution/. "$work"
cd "$work"
python3 - <<'EDIT'
text = open("solve.sh").read()


def change(old, new):
    global text
    assert text.count(old) == 1, old
    text = text.replace(old, new)


change("cache=/var/tmp/holm-cache\n", "cache=/var/tmp/holm-cache-sysvinit\n")
change("--include=systemd-sysv,udev,iproute2", "--include=sysvinit-core,iproute2,udhcpc")
change("chroot \"$root\" sh -c 'dpkg -i", "rm \"$root/etc/inittab\"\nchroot \"$root\" sh -c 'dpkg -i")
start = text.index("for unit in apt-daily.timer")
end = text.index('mkdir -p "$root/dev"')
text = text[:start] + text[end:]
start = text.index("\tprintf '[Match]")
end = text.index("\tinstall -D -m 755 \"$packages/holm-upgrade\"")
text = text[:start] + text[end:]
start = text.index("\twants=$packages")
end = text.index("\tput holm-base-$v 644 /etc/holm/site.conf")
text = text[:start] + '\tcp -r "$packages/init/." "$packages/holm-base-$v/"\n' + text[end:]
change('mkdir "$work/debs"', 'rm -r "$packages/init"\nmkdir "$work/debs"')
open("solve.sh", "w").write(text)
EDIT
rm -r packages/*/usr/lib/systemd
own=packages/init
mkdir -p $own/etc $own/usr/lib/holm
cat >$own/etc/inittab <<'TABLE'
id:2:initdefault:
si::sysinit:/usr/lib/holm/begin
l0:0:wait:/usr/lib/holm/end halt -p
l6:6:wait:/usr/lib/holm/end reboot
ca:2:ctrlaltdel:/sbin/shutdown -r now
nw:2:respawn:/sbin/udhcpc -f -i eth0
kt:2:respawn:/usr/lib/holm/keep holm-tally /var/lib/holm-tally
kr:2:respawn:/usr/lib/holm/keep holm-registry /var/lib/holm-registry/registers
up:2:once:/usr/lib/holm/resume
T0:2:respawn:/sbin/agetty -L 115200 ttyS0 vt100
TABLE
cat >$own/usr/lib/holm/begin <<'BEGIN'
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs -o mode=755,nosuid,nodev run /run
mkdir -p /run/lock /dev/pts /dev/shm
[ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd
chmod 1777 /run/lock
mount -t devpts -o gid=5,mode=620 pts /dev/pts
mount -t tmpfs -o mode=1777,nosuid,nodev shm /dev/shm
find /tmp -mindepth 1 -delete
: >/run/utmp
hostname "$(cat /etc/hostname)"
ip link set lo up
ip link set eth0 up
BEGIN
cat >$own/usr/lib/holm/end <<'END'
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
killall5 -15
sleep 2
killall5 -9
sync
mount -n -o remount,ro /
exec "$@" -d -f
END
cat >$own/usr/lib/holm/keep <<'KEEP'
#!/bin/sh
# keep NAME WHAT: runs a service as its user while WHAT is there, again when it has ended, and not
# while its package says that it is stopped.
name=$1 what=$2
while :; do
	if [ -x /usr/sbin/$name ] && [ -e "$what" ] && [ ! -e /run/$name.stopped ]; then
		setpriv --reuid $name --regid $name --clear-groups /usr/sbin/$name </dev/null >/dev/null 2>&1 &
		echo $! >/run/$name.pid
		wait $!
		rm -f /run/$name.pid
	fi
	sleep 1
done
KEEP
cat >$own/usr/lib/holm/resume <<'RESUME'
#!/bin/sh
# Bring an interrupted release upgrade to its end.
while [ -e /var/lib/holm-upgrade ]; do
	/usr/sbin/holm-upgrade --resume </dev/null >/dev/null 2>&1 || sleep 5
done
RESUME
chmod 755 $own/usr/lib/holm/*
cat >/tmp/stop <<'STOP'
stop() { # stop NAME: and let nobody start it
	: >/run/$1.stopped
	sleep 1.5
	while [ -e /run/$1.pid ]; do
		kill "$(cat /run/$1.pid)" 2>/dev/null || rm -f /run/$1.pid
		sleep 0.5
	done
}
STOP
for name in tally-1.0 registry-2.0; do
	scripts=packages/holm-$name/DEBIAN name=holm-${name%-*}
	{ printf '#!/bin/sh\nset -e\n'; cat /tmp/stop; echo "stop $name"; } >$scripts/prerm
	sed -i '/systemctl/d' $scripts/postrm $scripts/postinst
	echo "rm -f /run/$name.stopped" >>$scripts/postinst
done
postinst=packages/holm-registry-2.0/DEBIAN/postinst
python3 - $postinst <<'EDIT'
import sys

place = sys.argv[1]
text = open(place).read()
at = text.index("old=/var/lib")
stop = open("/tmp/stop").read()
calls = "stop holm-tally\nif [ -e /run/holm-registry.pid ]; then stop holm-registry; fi\n"
open(place, "w").write(text[:at] + stop + calls + text[at:])
EDIT
bash "$work/solve.sh"
