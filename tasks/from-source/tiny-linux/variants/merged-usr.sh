#!/bin/bash
# A merged /usr of hard links, the C library under two names, /tmp a link into a /run that is a ramfs, other ids and modes, bcrypt, a folder more.
set -euo pipefail
work=$(mktemp -d)
cp -a /solution/. "$work"
cat > "$work/changes" <<'CHANGES'
mkdir -p root/usr/lib root/srv root/data
mv root/sbin/* root/usr/sbin/
rm -f root/bin/busybox.old
mv root/bin/* root/usr/bin/
mv root/lib/* root/usr/lib/
rmdir root/bin root/sbin root/lib
for name in bin sbin lib; do ln -s usr/$name root/$name; done
rm root/usr/lib/ld-musl-x86_64.so.1
cp root/usr/lib/libc.so root/usr/lib/ld-musl-x86_64.so.1
find root/usr/bin root/usr/sbin -type l | while read -r link; do
    ln -f root/usr/bin/busybox "$link"
done
rmdir root/tmp
ln -s run/tmp root/tmp
printf %s "$order" > root/etc/order
sed -i 's/:100:/:971:/; s/:1000:/:501:/; s/:90:/:44:/' root/etc/group
sed -i -e 's/:100:100:/:971:971:/' -e 's|clerk:x:1000:1000:clerk:/data/home/clerk|clerk:x:501:501:Büro:/data/people/clerk|' root/etc/passwd
hash=$(python3 -W ignore -c 'import crypt; print(crypt.crypt("Quarry-Lamp-52", crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=64)))')
awk -F: -v OFS=: -v hash="$hash" '$1 == "root" { $2 = hash } { print }' root/etc/shadow > shadow.new
echo 'seal:*:::::::' >> shadow.new
cat shadow.new > root/etc/shadow
chmod 640 root/etc/shadow
echo 'seal:x:44:44:the device:/:/bin/false' >> root/etc/passwd
mkdir -p data/people
mv data/home/clerk data/people/clerk
rmdir data/home
CHANGES
sed -i -e 's|^image$|. "$here/changes"; image|' -e 's|100:100 data/ledger|971:971 data/ledger|' \
    -e 's|1000:1000 data/home/clerk|501:501 data/people/clerk|' -e 's|data/home/clerk root/root|data/people/clerk root/root|' \
    -e 's|start=8192, size=6144|start=8192, size=8192|' -e 's|start=14336, size=18432|start=16384, size=16384|' \
    -e 's|14336 \* 512|16384 * 512|' -e 's|"\$img" 3M|"$img" 4M|' -e 's|"\$img" 9M|"$img" 8M|' "$work/solve.sh"
sed -i -e 's|/data/home/clerk|/data/people/clerk|' -e '/ tmpfs \/tmp$/d' \
    -e 's|^mount -t tmpfs -o \(.*\),mode=755,size=2m tmpfs /run|mount -t ramfs -o \1,mode=755 ramfs /run\nmkdir -m 1777 /run/tmp|' "$work/rootfs/etc/init.d/rcS"
bash "$work/solve.sh"
