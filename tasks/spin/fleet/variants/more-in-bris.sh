#!/bin/bash
# Stations of 2.0 get a holm-registry 2.1 that is started again and again, those of 1.0 a holm-tools 1.1; their Releases say more.
set -eu
own=$(mktemp -d)
cp -r /solution/. "$own"
cat >/tmp/changes <<'CHANGES'
again bris holm-registry holm-registry-2.1
sed -i 's/^Version: .*/Version: 2.1/' "$packages/holm-registry-2.1/DEBIAN/control"
sed -i 's/^After=.*/&\nStartLimitIntervalSec=0/' "$packages"/holm-registry-2.1/usr/lib/systemd/system/*.service
again alke holm-tools holm-tools-1.1
sed -i 's/^Version: .*/Version: 1.1/' "$packages/holm-tools-1.1/DEBIAN/control"
CHANGES
sed -i -e 's/^publish alke 1.0/rm "$archive"\/holm\/pool\/alke\/holm-tools_1.0_all.deb "$archive"\/holm\/pool\/bris\/holm-registry_2.0_all.deb\ncp "$debs"\/holm-tools_1.1_all.deb "$archive\/holm\/pool\/alke\/"\ncp "$debs"\/holm-registry_2.1_all.deb "$archive\/holm\/pool\/bris\/"\n&/' $own/solve.sh
sed -i 's/^    "Architectures: amd64/    f"Description: packages of {suite}\\nAcquire-By-Hash: no\\n"\n&/' $own/publish.py
grep -q 'holm-registry_2.1' $own/solve.sh
grep -q 'packages of' $own/publish.py
LOCAL_CHANGES=/tmp/changes bash $own/solve.sh
