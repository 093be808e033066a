#!/bin/bash
# A shell started by rc.local keeps the broker running, as another user.
set -eu
rm -rf /tmp/otherwise
cp -r /solution /tmp/otherwise
cd /tmp/otherwise
cat >changes <<'CHANGES'
rm "$root/etc/systemd/system/mosquitto.service" "$root"/etc/systemd/system/*/mosquitto.service
chroot "$root" useradd --system --home-dir /nonexistent --shell /usr/sbin/nologin broker
sed -i 's/^chown mosquitto:/chown broker:/' "$lib/read-settings"
put 755 /usr/local/sbin/keep <<'KEEP'
#!/bin/sh
install -d -m 700 -o broker -g broker /run/mosquitto /var/lib/mosquitto
trap 'kill $child; wait $child; exit' TERM
trap 'kill $child' HUP
while :; do
	/usr/lib/mosquitto-project/read-settings
	setpriv --reuid broker --regid broker --clear-groups /usr/local/sbin/mosquitto -c /run/mosquitto/mosquitto.conf &
	child=$!
	wait $child
	wait $child
	sleep 1
done
KEEP
put 755 /etc/rc.local <<'RC'
#!/bin/sh
/usr/local/sbin/keep </dev/null >/dev/null 2>&1 &
echo $! >/run/keep.pid
RC
sed -i 's/^systemctl restart .*/kill -HUP $(cat \/run\/keep.pid)/' "$root/usr/local/bin/project-build"
CHANGES
LOCAL_CHANGES=/tmp/otherwise/changes bash solve.sh
