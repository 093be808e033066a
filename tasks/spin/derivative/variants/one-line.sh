#!/bin/bash
# One-line sources, other priorities, /etc/os-release itself diverted, other unit names, blocks of 1 KiB, more of Debian on the station.
set -euo pipefail
cp -r /solution /tmp/one-line
python3 - <<'PY'
path = "/tmp/one-line/solve.sh"
text = open(path).read()
def put(old, new):
    global text
    assert old in text, old
    text = text.replace(old, new)
put("systemd-sysv,udev,iproute2", "systemd-sysv,udev,iproute2,less,procps,cron")
put("cache=/var/tmp/holm-cache", "cache=/var/tmp/holm-cache-more")
put("mke2fs -q -t ext4 -d", "mke2fs -q -t ext4 -b 1024 -d")
open(path, "w").write(text)
PY
cat >/tmp/one-line.changes <<'CHANGES'
for v in 1.0 2.0; do
	folder=$packages/holm-base-$v suite=alke
	[ $v = 1.0 ] || suite=bris
	rm "$folder/etc/apt/sources.list.d/holm.sources"
	cat >"$folder/etc/apt/sources.list.d/stations.list" <<SOURCES
# ours, then Debian's
deb [signed-by=/usr/share/keyrings/holm-archive.gpg] mirror+file:/etc/holm/mirrors/holm $suite main
deb [arch=amd64 signed-by=/usr/share/keyrings/holm-base.gpg] mirror+file:/etc/holm/mirrors/base bookworm main
SOURCES
	cat >"$folder/etc/apt/preferences.d/10-stations" <<'PRIORITIES'
Package: *
Pin: release o=Holm, c=main
Pin-Priority: 950

Package: /^holm-/
Pin: release n=bookworm
Pin-Priority: -10

Package: *
Pin: release n=bookworm
Pin-Priority: 400
PRIORITIES
	rm "$folder/etc/apt/preferences.d/holm"
	sed -i 's|holm\.sources|stations.list|g; s|/usr/lib/os-release|/etc/os-release|' "$folder/usr/sbin/holm-upgrade"
	mv "$folder/usr/lib/os-release" "$folder/etc/os-release"
	sed -i 's/^ID=holm/ID="holm"/; s/^ID_LIKE=.*/ID_LIKE='"'debian'/" "$folder/etc/os-release"
	sed -i 's|/usr/lib/os-release|/etc/os-release|g' "$folder/DEBIAN/preinst"
done
for service in holm-tally-1.0 holm-registry-2.0; do
	name=${service%-*} folder=$packages/$service
	mkdir -p "$folder/lib/systemd/system"
	mv "$folder/usr/lib/systemd/system/$name.service" "$folder/lib/systemd/system/registers-of-$name.service"
	rm -r "$folder/usr/lib"
	sed -i "s/$name\.service/registers-of-&/" "$folder"/DEBIAN/{postinst,prerm}
done
CHANGES
LOCAL_CHANGES=/tmp/one-line.changes bash /tmp/one-line/solve.sh
