# A small station with BusyBox, Python and OpenSSL in the folder $1: vmlinuz, initrd and station.tar, of
# Debian packages that are fetched here. Wants a machine of the same release, with cpio.

out=${1:-/opt/station}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out" "$work/packages" "$work/tree" "$work/initrd/bin" "$work/initrd/modules"
cd "$work/packages"
apt-get -q update
kernel=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p')
apt-get -q -o APT::Sandbox::User=root download "$kernel" busybox-static libbz2-1.0 libc6 libexpat1 \
    libffi8 liblzma5 libpython3.11-minimal libpython3.11-stdlib libssl3 openssl python3.11-minimal \
    zlib1g

# --- its disk ------------------------------------------------------------------------------------
tree=$work/tree
mkdir -p "$tree/usr/bin" "$tree/usr/sbin" "$tree/usr/lib" "$tree/usr/lib64"
for name in bin sbin lib lib64; do ln -s "usr/$name" "$tree/$name"; done
for package in *.deb; do
    case $package in linux-image-*) continue ;; esac
    dpkg-deb --fsys-tarfile "$package" | tar -xf - -C "$tree" --keep-directory-symlink
done
rm -rf "$tree/usr/share" "$tree/usr/lib/x86_64-linux-gnu/gconv" "$tree/usr/lib/valgrind"
for name in ensurepip idlelib lib2to3 distutils pydoc_data tkinter unittest wsgiref; do
    rm -rf "$tree/usr/lib/python3.11/$name"
done
mkdir -p "$tree/dev" "$tree/proc" "$tree/sys" "$tree/run" "$tree/tmp" "$tree/root" "$tree/opt" \
    "$tree/srv" "$tree/var/lib" "$tree/usr/local" "$tree/etc"
chmod 1777 "$tree/tmp"
ln -sf python3.11 "$tree/usr/bin/python3"
for name in $("$tree/bin/busybox" --list); do
    [ -e "$tree/usr/bin/$name" ] || ln -s busybox "$tree/usr/bin/$name"
done
for name in init poweroff reboot halt; do ln -sf ../bin/busybox "$tree/usr/sbin/$name"; done
printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n' > "$tree/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' > "$tree/etc/group"
printf '::sysinit:/etc/rc\n::respawn:-/bin/sh\n::shutdown:/bin/umount -a -r\n' > "$tree/etc/inittab"
cat > "$tree/etc/rc" <<'RC'
#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
ip link set lo up
ip link set eth0 up
ip addr add 10.0.2.15/24 dev eth0
ip route add default via 10.0.2.2
hostname station
RC
chmod 755 "$tree/etc/rc"
# Otherwise each start of Python would compile what it imports.
chroot "$tree" /usr/bin/python3.11 -m compileall -q --invalidation-mode unchecked-hash /usr/lib/python3.11 || true
find "$tree" -exec touch -h -d @1767225600 {} +
tar -C "$tree" --sort=name --numeric-owner -cf "$out/station.tar" .

# --- what starts it ------------------------------------------------------------------------------
dpkg-deb -x linux-image-*.deb "$work/kernel"
cp "$work"/kernel/boot/vmlinuz-* "$out/vmlinuz"
initrd=$work/initrd
mkdir -p "$initrd/dev" "$initrd/proc" "$initrd/new"
cp "$tree/usr/bin/busybox" "$initrd/bin/busybox"
for module in virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk \
    failover net_failover virtio_net crc16 crc32c_generic libcrc32c mbcache jbd2 ext4; do
    found=$(find "$work/kernel/lib/modules" -name "$module.ko*")
    [ -z "$found" ] || { cp "$found" "$initrd/modules/"; echo "$module" >> "$initrd/modules/order"; }
done
cat > "$initrd/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev
for pass in 1 2 3; do
    while read -r name; do /bin/busybox insmod /modules/$name.ko* 2> /dev/null; done < /modules/order
done
tries=0
while [ ! -b /dev/vda ] && [ $tries -lt 50 ]; do /bin/busybox sleep 0.1; tries=$((tries + 1)); done
/bin/busybox mount -t ext4 /dev/vda /new && /bin/busybox mount --move /dev /new/dev
exec /bin/busybox switch_root /new /sbin/init
INIT
chmod 755 "$initrd/init"
(cd "$initrd" && find . | sort | cpio -o -H newc --quiet | gzip -9n) > "$out/initrd"
[ $# -gt 0 ] || rm -rf /var/lib/apt/lists/*
ls -l "$out"
