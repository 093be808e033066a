#!/bin/bash
# No systemd: sysvinit with init scripts, a shell that keeps the service alive, dhclient, and a resume by an init script.
set -euo pipefail
cp -r /solution /tmp/sysvinit
python3 - <<'PY'
path = "/tmp/sysvinit/solve.sh"
text = open(path).read()
def put(old, new):
    global text
    assert old in text, old
    text = text.replace(old, new)
put("systemd-sysv,udev,iproute2", "sysvinit-core,udev,iproute2,isc-dhcp-client")
put("cache=/var/tmp/holm-cache", "cache=/var/tmp/holm-cache-sysvinit")
start = text.index("for unit in apt-daily.timer")
end = text.index('mkdir -p "$root/dev"')
text = text[:start] + """sed -i '/^[1-6]:/d' "$root/etc/inittab"
printf '/dev/vda / ext4 rw 0 0\\n' >"$root/etc/fstab"
echo 'T0:2345:respawn:/sbin/agetty -L ttyS0 115200 vt100' >>"$root/etc/inittab"
""" + text[end:]
open(path, "w").write(text)
PY
cat >/tmp/sysvinit.changes <<'CHANGES'
init_script() { # init_script PACKAGE NAME START STOP
	mkdir -p "$packages/$1/etc/init.d"
	cat >"$packages/$1/etc/init.d/$2" <<SCRIPT
#!/bin/sh
### BEGIN INIT INFO
# Provides:          $2
# Required-Start:    \$local_fs \$remote_fs
# Required-Stop:
# Default-Start:     2 3 4 5
# Default-Stop:
# Short-Description: $2
### END INIT INFO
case \$1 in
start) $3 ;;
stop) $4 ;;
restart | force-reload) \$0 stop; \$0 start ;;
esac
SCRIPT
	chmod 755 "$packages/$1/etc/init.d/$2"
}
for service in holm-tally-1.0 holm-registry-2.0; do
	name=${service%-*} folder=$packages/$service
	rm -r "$folder/usr/lib/systemd"
	mkdir -p "$folder/usr/lib/$name"
	cat >"$folder/usr/lib/$name/keep" <<SCRIPT
#!/bin/sh
trap 'kill \$child; exit 0' TERM
while :; do
	setpriv --reuid=$name --regid=$name --clear-groups /usr/sbin/$name &
	child=\$!
	wait \$child
	sleep 1
done
SCRIPT
	chmod 755 "$folder/usr/lib/$name/keep"
	init_script $service $name \
		"[ ! -x /usr/lib/$name/keep ] || start-stop-daemon -S -o -b -m -p /run/$name.pid -x /bin/sh -- /usr/lib/$name/keep" \
		"start-stop-daemon -K -o -p /run/$name.pid -R 10"
	sed -i "s|systemctl --quiet enable.*|update-rc.d $name defaults >/dev/null|
s|^\[ ! -d /run/systemd/system \] .. { systemctl daemon-reload; systemctl restart.*|[ ! -p /run/initctl ] \|\| /etc/init.d/$name restart|" "$folder/DEBIAN/postinst"
	printf '#!/bin/sh\nset -e\n[ ! -p /run/initctl ] || /etc/init.d/%s stop\n[ "$1" != remove ] || update-rc.d -f %s remove >/dev/null\n' $name $name >"$folder/DEBIAN/prerm"
	sed -i '/systemd/d' "$folder/DEBIAN/postrm"
done
for v in 1.0 2.0; do
	folder=$packages/holm-base-$v
	rm -r "$folder/usr/lib/systemd"
	init_script holm-base-$v holm-network \
		'for card in /sys/class/net/e*; do /sbin/dhclient -nw ${card##*/}; done >/dev/null 2>&1' :
	mkdir -p "$folder/usr/lib/holm-base"
	printf '#!/bin/sh\nwhile [ -e /var/lib/holm-upgrade ]; do\n\t/usr/sbin/holm-upgrade --resume\n\tsleep 5\ndone\n' >"$folder/usr/lib/holm-base/resume"
	chmod 755 "$folder/usr/lib/holm-base/resume"
	init_script holm-base-$v holm-upgrade \
		'[ ! -e /var/lib/holm-upgrade ] || setsid /usr/lib/holm-base/resume </dev/null >/dev/null 2>&1 &' :
	printf '#!/bin/sh\nset -e\nupdate-rc.d holm-network defaults >/dev/null\nupdate-rc.d holm-upgrade defaults >/dev/null\n' >"$folder/DEBIAN/postinst"
	chmod 755 "$folder/DEBIAN/postinst"
done
if grep -rn systemctl "$packages"; then exit 1; fi
CHANGES
LOCAL_CHANGES=/tmp/sysvinit.changes bash /tmp/sysvinit/solve.sh
