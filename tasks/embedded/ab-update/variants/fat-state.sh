#!/bin/bash
# The loader keeps its state in a FAT with other names, and starts kernels by their 32-bit entry.
set -eu
cp -r /solution /tmp/own
python3 - /tmp/own <<'PYTHON'
import sys

own = sys.argv[1]


def edit(name, *pairs):
    path = f"{own}/{name}"
    text = open(path).read()
    for old, new in pairs:
        assert old in text, (name, old)
        text = text.replace(old, new)
    open(path, "w").write(text)


edit(
    "solve.sh",
    ('mke2fs -q -t ext2 -b 4096 -N 16 -d "$work/state.d" -L state "$work/state"\n',
     'mformat -i "$work/state" -T 2048 -h 16 -s 32 -c 8 -v STATE ::\n'
     'for copy in s0 s1 t1 t2 t3; do mcopy -i "$work/state" "$work/state.d/$copy" "::/$copy.env"; done\n'),
    ('echo "$copy=$(($(debugfs -R "bmap /$copy 0" "$work/state" 2>/dev/null) * 8))"\n',
     'echo "$copy=$(python3 -c \'import sys; d = open(sys.argv[1], "rb").read(); p = d.index(open(sys.argv[2], "rb").read()); assert p % 512 == 0; print(p // 512)\' "$work/state" "$work/state.d/$copy")"\n'),
    ("biosdisk part_gpt ext2 memdisk tar normal configfile linux16", "biosdisk part_gpt ext2 fat memdisk tar normal configfile linux"),
)
edit(
    "grub.cfg",
    ("/s${1}", "/s${1}.env"), ("/t${1}", "/t${1}.env"), ("linux16 ", "linux "), ("initrd16 ", "initrd "),
)
PYTHON
sed -i 's/%09d/%06d/; s/\.new/.tmp/g' /tmp/own/rootfs/usr/sbin/record
bash /tmp/own/solve.sh
