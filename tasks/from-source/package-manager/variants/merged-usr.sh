#!/bin/bash
# /bin, /sbin and /lib are links into /usr, where all programs and the library lie.
set -eu
work=$(mktemp -d)
cp -r /solution/. "$work"
python3 - "$work/solve.sh" <<'EDIT'
import sys

place = sys.argv[1]
text = open(place).read()


def change(old, new):
    global text
    assert text.count(old) == 1, old
    text = text.replace(old, new)


change("ln -s /run/resolv.conf $tree/etc/resolv.conf\n",
       "ln -s /run/resolv.conf $tree/etc/resolv.conf\n"
       "mkdir -p $tree/usr/{bin,sbin,lib}\n"
       "for top in bin sbin lib; do ln -s usr/$top $tree/$top; done\n")
change("mkdir -p $tree/lib\ninstall -m 755 sysroot/lib/libc.so $tree/lib/ld-musl-x86_64.so.1\n"
       "strip $tree/lib/ld-musl-x86_64.so.1\n",
       "mkdir -p $tree/usr/lib\ninstall -m 755 sysroot/lib/libc.so $tree/usr/lib/ld-musl-x86_64.so.1\n"
       "strip $tree/usr/lib/ld-musl-x86_64.so.1\n")
change("mkdir -p $tree/{bin,sbin,usr/bin,usr/sbin}\ninstall -m 755 busybox/busybox $tree/bin/busybox\n",
       "mkdir -p $tree/usr/{bin,sbin}\ninstall -m 755 busybox/busybox $tree/usr/bin/busybox\n")
change("while read -r link; do\n", "while read -r link; do\n    case $link in /bin/* | /sbin/*) link=/usr$link ;; esac\n"
       '    mkdir -p "$tree$(dirname "$link")"\n')
open(place, "w").write(text)
EDIT
bash "$work/solve.sh"
