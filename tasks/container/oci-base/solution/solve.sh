#!/bin/bash
# The oracle: parcels, a builder in sh and awk, and the image that it makes of the base list.
# STOP_AFTER=<milestone> leaves out what only later milestones ask for.
set -euo pipefail
ladder="parcels layout composed boots user programs zones trust slim builds anywhere another refuses"
stop=${STOP_AFTER:-refuses}
stages=
for rung in $ladder; do
    stages="$stages $rung"
    [ "$rung" != "$stop" ] || break
done
has() { case " $stages " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }

here=$(cd "$(dirname "$0")" && pwd)
work=/tmp/work
mkdir -p $work /app/out
if [ ! -e $work/done ]; then
    bash "$here/busybox.sh" /app/sources /app/bench/commands $work/busybox
    dpkg-deb -x /app/sources/musl_*.deb $work/musl
    strip -s -R .comment -R .note.gnu.build-id -R .gnu_debuglink -o $work/libc.so $work/musl/lib/x86_64-linux-musl/libc.so
    dpkg-deb -x /app/bench/ca-certificates.deb $work/ca
    dpkg-deb -x /app/bench/tzdata.deb $work/tzdata
    python3 "$here/zones.py" $work/tzdata/usr/share/zoneinfo $work/zoneinfo
    touch $work/done
fi
# musl takes a name like NZ-CHAT or EST5EDT for a rule; a path is a path to every library.
sed -e 's/^#define VERSION.*/#define VERSION "2.4"/' -e 's/setenv("TZ", zone, 1)/setenv("TZ", path, 1)/' /app/order/almanac/almanac.c > $work/almanac.c
link=
has programs || link=-static
musl-gcc $link -I "$here/compat" -Os -fno-asynchronous-unwind-tables -Wl,--build-id=none -o $work/almanac $work/almanac.c
! has slim || strip -s -R .comment -R .note $work/almanac

rm -rf $work/kit $work/full /app/out/*
mkdir -p $work/kit $work/full
python3 "$here/parcels.py" $work $work/kit/packages $stages
cp "$here"/kit/* $work/full
if has builds; then cp $work/full/* $work/kit; else echo 'exit 1' > $work/kit/build; fi
has anywhere || sed -i '2a case "$*" in *" "*" "*" "*) exit 1 ;; esac' $work/kit/build
has another || echo '$2 == "remove" { wrong("no removals yet") }' >> $work/kit/compose.awk
has refuses || sed -i '/other form/d; /other content/d' $work/kit/build
tar --format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -C $work/kit -cf /app/out/kit.tar .
if ! has layout; then
    echo "no layout yet" > /app/out/base.tar
    exit 0
fi

# The machine's own tools, so that its gzip is the one that decides.
mkdir -p $work/tools
for tool in $(/app/bench/busybox --list); do ln -sf /app/bench/busybox "$work/tools/$tool"; done
list=/app/bench/base.list
if ! has composed; then
    sed '/^layer.program/,$d' $list > $work/short.list
    list=$work/short.list
fi
env -i PATH=$work/tools TMPDIR=/tmp sh $work/full/build $list $work/kit/packages /app/out/base.tar
