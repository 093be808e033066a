#!/bin/bash
# A shell started by rc.local keeps Alertmanager running as its user; tests lie in a bound folder.
set -eu
rm -rf /tmp/otherwise
cp -r /solution /tmp/otherwise
cd /tmp/otherwise
cat >changes <<'CHANGES'
rm "$root/etc/systemd/system/alertmanager.service" "$root"/etc/systemd/system/*/alertmanager.service
put 755 /usr/local/sbin/keep <<'KEEP'
#!/bin/sh
install -d -m 700 -o alertmanager -g alertmanager /run/alertmanager /var/lib/alertmanager
trap 'kill $child; wait $child; exit' TERM
trap 'kill $child' HUP
while :; do
	/usr/lib/alertmanager/read-settings
	setpriv --reuid alertmanager --regid alertmanager --clear-groups /usr/local/bin/alertmanager $(cat /run/alertmanager/words) &
	child=$!
	wait $child
	wait $child
	sleep 1
done
KEEP
put 755 /etc/rc.local <<'RC'
#!/bin/sh
mount --bind /srv/alertmanager /usr/lib/alertmanager/go/src/github.com/prometheus/alertmanager
/usr/local/sbin/keep </dev/null >/dev/null 2>&1 &
echo $! >/run/keep.pid
RC
rm "$lib/go/src/github.com/prometheus/alertmanager"
mkdir "$lib/go/src/github.com/prometheus/alertmanager"
sed -i 's/^systemctl restart .*/kill -HUP $(cat \/run\/keep.pid)/' "$root/usr/local/bin/project-build"
CHANGES
LOCAL_CHANGES=/tmp/otherwise/changes bash solve.sh
