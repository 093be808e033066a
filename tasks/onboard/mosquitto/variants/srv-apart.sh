#!/bin/bash
# /srv is a file system of its own.
set -eu
rm -rf /tmp/otherwise
cp -r /solution /tmp/otherwise
cd /tmp/otherwise
sed -i -e 's/^start=16384, type=83/start=16384, size=2764800, type=83\nstart=2781184, type=83/' \
	-e 's/^mke2fs /mv "$root\/srv" "$work\/srv"; mkdir "$root\/srv"\n&/' \
	-e 's/"$image" "${system_mb}M"/"$image" 1350M\nmke2fs -q -t ext4 -d "$work\/srv" -L srv -E offset=$((2781184 * 512)),root_owner=0:0 "$image" 200M/' \
	solve.sh
echo "echo 'LABEL=srv /srv ext4 defaults 0 0' >\"\$root/etc/fstab\"" >changes
LOCAL_CHANGES=/tmp/otherwise/changes bash solve.sh
