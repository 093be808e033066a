#!/bin/bash
# /srv is a file system of its own; Kinto runs as nobody, behind systemd's socket and proxy, from a
# folder that is a program.
set -eu
rm -rf /tmp/otherwise
mkdir /tmp/otherwise
cp -r /solution/. /tmp/otherwise/
cd /tmp/otherwise
sed -i -e 's/-o kinto -g kinto/-o nobody -g nogroup/; s/User=kinto/User=nobody/' \
	-e 's#/usr/lib/kinto/run.py#/usr/lib/kinto#; s/0.0.0.0:8888/127.0.0.1:8887/' files/*
sed -i -e 's/^start=16384, type=83/start=16384, size=2867200, type=83\nstart=2883584, type=83/' \
	-e 's/^mke2fs /mv "$root\/srv" "$work\/srv"; mkdir "$root\/srv"\n&/' \
	-e 's/"$image" "${system_mb}M"/"$image" 1390M\nmke2fs -q -t ext4 -d "$work\/srv" -L srv -E offset=$((2883584 * 512)),root_owner=0:0 "$image" 630M/' \
	solve.sh
cat >changes <<'CHANGES'
mv "$root/usr/lib/kinto/run.py" "$root/usr/lib/kinto/__main__.py"
echo 'LABEL=srv /srv ext4 defaults 0 0' >"$root/etc/fstab"
put 644 /etc/systemd/system/door.socket <<'UNIT'
[Socket]
ListenStream=0.0.0.0:8888

[Install]
WantedBy=sockets.target
UNIT
put 644 /etc/systemd/system/door.service <<'UNIT'
[Service]
User=daemon
ExecStart=/lib/systemd/systemd-socket-proxyd 127.0.0.1:8887
UNIT
chroot "$root" systemctl --quiet enable door.socket
CHANGES
LOCAL_CHANGES=/tmp/otherwise/changes bash solve.sh
