#!/bin/bash
# Builds the station and its repository. STOP_AFTER=<milestone>: of the next milestone too little.
# LOCAL_CHANGES names a file that is sourced before lade is compiled and packages are made.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=/build
out=/app/out
ladder="repository boots stands whole trusts installs refuses configures upgrades removes builds undoes
returns itself survives"
case " ${ladder//$'\n'/ } " in *" ${STOP_AFTER:-survives} "*) ;; *) echo "no such milestone: $STOP_AFTER" >&2; exit 2 ;; esac
from-tasks-lib ladder.sh
log() { echo "[$(date +%T)] $*"; }

mkdir -p $build $out
bash "$here/userland.sh" /app/sources $build
cd $build
if [ ! -e kernel ]; then
    dpkg-deb -x /app/sources/linux-image-*.deb kernel.new
    mv kernel.new kernel
fi
modules=$(echo kernel/lib/modules/*)

rm -rf lade root trees recipes tide repo image
cp -r "$here/lade" lade
cp -r "$here/rootfs" root

# ---- what is left out for the ladder: of the milestone after $STOP_AFTER, just too little ----

shadow=$(openssl passwd -6 -salt tarn 'Cold-Lake-51')
has boots || shadow='*'
has stands || sed -i '/::shutdown:/d' root/etc/inittab
has trusts || sed -i 's/signature_size != 64 ||.*/signature_size != 64)/' lade/state.c
has installs || sed -i 's/chmod(new, op->mode)/chmod(new, op->mode \& 0777)/' lade/txn.c
has refuses || sed -i 's/ || strcmp(sum, line->sha))/)/' lade/state.c
has configures || sed -i 's/if (untouched(old->e))$/if (1)/' lade/plan.c
has upgrades || sed -i "s/if (disk != '-' \&\& (!old || old->e->type == 'd'))/if (disk != '-')/" lade/plan.c
has removes || sed -i '/^void drop/,$s/validate();/(void)0;/' lade/plan.c
has undoes || sed -i 's/^    if (status)$/    if (status > 1000)/' lade/plan.c
has returns || sed -i 's/if (lstat(LAST, &st))$/if (1)/' lade/txn.c
has itself || sed -i '/^static void validate/,/^}/s/^    struct list way.*/&\n    if (wanted("libc") \&\& find_installed("libc"))\n        die(IMPOSSIBLE, "the library is in use");/' lade/plan.c
has survives || sed -i '/lade recover/d' root/etc/init.d/rcS
has builds || sed -i 's/^int build(.*/&\n{\n    (void)recipe, (void)out;\n    return USAGE;\n}\n\nint build_really(const char *recipe, const char *out)/' lade/pack.c
[ -z "${LOCAL_CHANGES:-}" ] || . "$LOCAL_CHANGES"

# ---- lade ----

log lade
# compile FOLDER PROGRAM
compile() {
    local ed25519="crypto_api mod_ed25519 mod_ge25519 fe25519 sc25519 sha2" file files=
    for file in $ed25519; do files="$files signify/$file.c"; done
    sysroot/bin/musl-gcc -O2 -static -s -D_GNU_SOURCE -DVERIFYONLY -w -include "$1/signify.h" \
        -Isignify -I"$1" -o "$2" "$1"/*.c $files
}
compile lade lade.bin
# What makes packages and disk here is whole, whatever the station's has to lack.
compile "$here/lade" lade.full

# ---- the packages ----

[ -e signer.pem ] || openssl genpkey -algorithm ed25519 -out signer.pem
key=$(openssl pkey -in signer.pem -pubout -outform DER | tail -c 32 | xxd -p -c 64)

tree=trees/base
mkdir -p $tree/{etc,home,mnt,opt,usr,var,var/lib,var/log}
cp -r root/. $tree
printf 'root:%s:19000:0:99999:7:::\nnobody:*:19000:0:99999:7:::\n' "$shadow" > $tree/etc/shadow
ln -s /run/resolv.conf $tree/etc/resolv.conf
find $tree -type d -exec chmod 755 {} +
chmod 600 $tree/etc/shadow
chmod 755 $tree/etc/init.d/* $tree/etc/udhcpc.script

tree=trees/libc
mkdir -p $tree/lib
install -m 755 sysroot/lib/libc.so $tree/lib/ld-musl-x86_64.so.1
strip $tree/lib/ld-musl-x86_64.so.1

tree=trees/busybox
mkdir -p $tree/{bin,sbin,usr/bin,usr/sbin}
install -m 755 busybox/busybox $tree/bin/busybox
while read -r link; do
    [ -e "$tree$link" ] || [ -h "$tree$link" ] || ln -s /bin/busybox "$tree$link"
done < busybox/busybox.links

tree=trees/cc
mkdir -p $tree/usr/{bin,include,lib/tcc}
install -m 755 tcc/tcc $tree/usr/bin/tcc
ln -s tcc $tree/usr/bin/cc
cp -r tcc/include $tree/usr/lib/tcc/include
cp tcc/libtcc1.a $tree/usr/lib/tcc/
cp sysroot/lib/*.o sysroot/lib/*.a $tree/usr/lib/
ln -s /lib/ld-musl-x86_64.so.1 $tree/usr/lib/libc.so
cp -r musl/include/*.h $tree/usr/include/
for folder in arpa bits net netinet netpacket scsi sys; do cp -r sysroot/include/$folder $tree/usr/include/; done
cp sysroot/include/*.h $tree/usr/include/
find $tree/usr/include $tree/usr/lib -type f -exec chmod 644 {} +
strip -g $tree/usr/lib/*.a $tree/usr/lib/*.o

tree=trees/lade
mkdir -p $tree/{usr/bin,etc}
install -m 755 lade.bin $tree/usr/bin/lade
printf '# See FORMAT.md.\nrepository=http://repo.tarn.example/tarn3\nkey=%s\n' "$key" > $tree/etc/lade.conf

tree=trees/recipes
mkdir -p $tree/usr/src/recipes/tide
cp /app/order/tide.c $tree/usr/src/recipes/tide/
cat > $tree/usr/src/recipes/tide/recipe <<-END
	name=tide
	version=1.0
	needs=libc>=1.2.3
	source=tide.c $(sha256sum < /app/order/tide.c | cut -c 1-64)
END
cat > $tree/usr/src/recipes/tide/build <<-'END'
	mkdir -p "$DEST/usr/bin"
	cc -o "$DEST/usr/bin/tide" tide.c
	chmod 755 "$DEST/usr/bin/tide"
END
find $tree -type f -exec chmod 644 {} +

mkdir -p repo
# pack NAME VERSION LINE...: the package of trees/NAME
pack() {
    local name=$1 version=$2 line
    shift 2
    mkdir -p "recipes/$name"
    tar -C "trees/$name" -cf "recipes/$name/tree.tar" .
    {
        printf 'name=%s\nversion=%s\n' "$name" "$version"
        for line; do echo "$line"; done
        echo "source=tree.tar $(sha256sum < "recipes/$name/tree.tar" | cut -c 1-64)"
    } > "recipes/$name/recipe"
    # Archives that name '.' give DEST itself another mode; nobody packs that.
    echo 'tar -xpf tree.tar -C "$DEST"' > "recipes/$name/build"
    ./lade.full build "recipes/$name" repo
}
log packages
pack base 3.0 'needs=busybox>=1.35' $(cd trees/base && find etc -type f ! -name rcS ! -name down ! -name os-release | sort | sed 's/^/config=/')
pack libc 1.2.3
pack busybox 1.35.0 'needs=libc>=1.2.3'
pack cc 0.9.27 'needs=libc>=1.2.3'
pack lade 1.0 needs=busybox config=etc/lade.conf
pack recipes 3.0 needs=cc

# index: writes INDEX of what is in repo
index() {
    local file meta
    printf 'lade-index 1\nserial 1\n'
    for file in $(cd repo && ls *.pkg | LC_ALL=C sort -t- -k1,1); do
        meta=$(tar xOf "repo/$file" META)
        field() { { grep "^$1=" || true; } <<< "$meta" | cut -d= -f2- | paste -sd, | sed 's/^$/-/'; }
        echo "$(field name) $(field version) $(stat -c %s "repo/$file") $(sha256sum < "repo/$file" | cut -c 1-64) $(field needs) $(field conflicts)"
    done
}
sign() {
    index > repo/INDEX
    openssl pkeyutl -sign -inkey signer.pem -rawin -in repo/INDEX -out repo/INDEX.sig
}
sign

# ---- the disk: installed by lade itself ----

log disk
mkdir -p image/{dev,proc,sys,run,tmp/repo,root,var/lib/lade/db}
chmod 1777 image/tmp
chmod 700 image/root
cp repo/* image/tmp/repo/
cp lade.full image/tmp/lade
printf 'repository=/tmp/repo\nkey=%s\n' "$key" > image/tmp/conf
LADE_CONF=/tmp/conf chroot image /tmp/lade update
LADE_CONF=/tmp/conf chroot image /tmp/lade install base libc busybox cc lade recipes
[ "$(chroot image /tmp/lade verify)" = "" ]

# tide is made by the station's own compiler.
mkdir image/tmp/out
chroot image /tmp/lade build /usr/src/recipes/tide /tmp/out
cp image/tmp/out/tide-1.0.pkg repo/
sign
rm -rf image/tmp/* image/var/lib/lade/{last,INDEX,fetch,lock}
has whole || echo stray > image/etc/stray
truncate -s 64M disk.new
mke2fs -q -F -t ext4 -m 0 -b 1024 -N 8192 -E root_owner=0:0 -d image disk.new

# ---- kernel and initial RAM disk ----

rm -rf initrd
mkdir -p initrd/{bin,lib/modules,proc,sys,dev,root,usr/bin,sbin,usr/sbin}
cp busybox/busybox initrd/bin/
cp sysroot/lib/libc.so initrd/lib/ld-musl-x86_64.so.1
strip initrd/lib/ld-musl-x86_64.so.1
for name in sh mount umount insmod usleep switch_root; do ln -s busybox initrd/bin/$name; done
for module in virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk \
    crc16 mbcache jbd2 crc32c_generic libcrc32c ext4 failover net_failover virtio_net; do
    found=$(find "$modules" -name "$module.ko")
    [ -z "$found" ] && continue
    cp "$found" initrd/lib/modules/
    echo "$module" >> initrd/modules
done
install -m 755 "$here/initrd-init" initrd/init
(cd initrd && find . | cpio --quiet -o -H newc -R 0:0 | gzip -1 > ../initrd.new)

rm -rf $out/*
cp kernel/boot/vmlinuz-* $out/vmlinuz
mv initrd.new $out/initrd
mv disk.new $out/disk.img
cp -r repo $out/repo
ls -ls $out $out/repo
log done
