#!/bin/bash
# Builds toolchain, kernel and root file system. STOP_AFTER=<milestone>: of the next one too little.
# LOCAL_CHANGES names a file that is sourced before anything is packed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=/build
out=/app/out
prefix=/fx31
target=riscv64-ferrum-linux-musl
ladder="archive named compiles anywhere defaults cxx tools kernel login system runs threads exceptions
same clean poweroff"
stop=${STOP_AFTER:-poweroff}
case " ${ladder//$'\n'/ } " in *" $stop "*) ;; *) echo "no such milestone: $stop" >&2; exit 2 ;; esac
reached=" "
for rung in $ladder; do
    reached="$reached$rung "
    [ "$rung" != "$stop" ] || break
done
has() { case "$reached" in *" $1 "*) ;; *) return 1 ;; esac; }

bash "$here/toolchain.sh" $build
python3 "$here/specs.py" $prefix/bin/$target-gcc
bash "$here/system.sh" $build
cd $build

# ---- what will be packed: the toolchain with its specs, the root file system, the kernel ----

rm -rf pack root
mkdir pack
cp -a $prefix pack/fx31
ln -sf $target-gcc pack/fx31/bin/$target-cc
cp src/linux/arch/riscv/boot/Image Image
mkdir -p root/{bin,sbin,lib,etc,proc,sys,dev,tmp,root,trial,usr/bin,usr/sbin,usr/lib}
# BusyBox's own build also strips the name of the compiler.
$prefix/bin/$target-strip -o root/bin/busybox busybox/busybox_unstripped
while read -r link; do
    [ -e "root$link" ] || [ -h "root$link" ] || ln -s /bin/busybox "root$link"
done < busybox/busybox.links
for library in ld-musl-riscv64.so.1 libgcc_s.so.1 libstdc++.so.6 libatomic.so.1; do
    cp -L "$($prefix/bin/$target-gcc -print-file-name=$library)" root/lib/
done
ln -s ld-musl-riscv64.so.1 root/lib/libc.so
cp -r "$here/rootfs/." root/
echo "root:$(perl -e 'print crypt("Kelp-Anchor-44", q($6$ferrum31$))'):20000:0:99999:7:::" > root/etc/shadow
echo 'trial:!:20000:0:99999:7:::' >> root/etc/shadow

# ---- what is left out for the ladder: of the milestone after $stop, just too little ----

specs=pack/fx31/lib/gcc/$target/12.2.0/specs
# spoil TOOL PATTERN: where the command line fits the pattern, the tool fails
spoil() {
    local tool=pack/fx31/bin/$target-$1
    mv "$tool" "$tool.real"
    printf '#!/bin/sh\ncase "$0 $*" in %s) exit 1 ;; esac\nexec "$(readlink -f "$0").real" "$@"\n' "$2" > "$tool"
    chmod 755 "$tool"
}
has named || rm pack/fx31/bin/$target-cc
has compiles || rm pack/fx31/sysroot/usr/lib/libc.a
has anywhere || spoil gcc '/links/*'
has defaults || sed -i 's/ -z now//' "$specs"
has cxx || spoil g++ '*main.cc*'
has tools || spoil objcopy '*only-keep-debug*'
has kernel || sed -i 's/6\.1\.176-fx31/6.1.176-fx30/' Image
has login || sed -i 's/^root:[^:]*/root:*/' root/etc/shadow
has system || {
    echo 'guest:x:1001:1001:guest:/tmp:/bin/sh' >> root/etc/passwd
    echo 'guest::20000:0:99999:7:::' >> root/etc/shadow
}
has runs || sed -i 's/-o ro,nosuid/-o ro,noexec,nosuid/' root/etc/rc
has threads || sed -i 's/ -z stack-size=1048576//' "$specs"
has exceptions || rm root/lib/libstdc++.so.6
has same || printf x >> root/lib/libatomic.so.1
has clean || echo 'const char *from = "/build/src/gcc/gcc.c";' |
    $prefix/bin/$target-gcc -xc -c - -o pack/fx31/sysroot/usr/lib/from.o
has poweroff || rm root/sbin/poweroff
[ -z "${LOCAL_CHANGES:-}" ] || . "$LOCAL_CHANGES"

# ---- packing ----

# By the toolchain as it will be delivered.
(cd /app/bench && $build/pack/fx31/bin/$target-g++ -std=c++20 -O2 -s -o $build/root/usr/bin/gauge gauge.cc)
chmod -R go-w,a+rX pack
find pack root -exec touch -h -d @1700000000 {} +
tar -C pack --sort=name --owner=0 --group=0 --numeric-owner -cf toolchain.tar fx31
chown -R 0:0 root
chmod 600 root/etc/shadow
chmod 755 root/etc/rc
rm -f rootfs.img
truncate -s 16M rootfs.img
mke2fs -q -F -t ext4 -O ^has_journal,^resize_inode -m 0 -E root_owner=0:0 -d root rootfs.img
mkdir -p $out
mv toolchain.tar Image rootfs.img $out/
ls -ls $out
