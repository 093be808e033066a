# After python-station.sh, in the same script: the station becomes the board of a router, with the
# programs and modules of its networks, a flash on /dev/vdb and a ROM that cannot be written.

cd "$work/packages"
rm -f ./*.deb
apt-get -q update
apt-get -q -o APT::Sandbox::User=root download conntrack dash dnsmasq-base iproute2 kmod libbpf1 libbsd0 \
    libcap2 libcap2-bin libdb5.3 libdbus-1-3 libelf1 libgmp10 libgpg-error0 libgcrypt20 libhogweed6 \
    libidn2-0 libjansson4 libkmod2 liblz4-1 libmd0 libmnl0 libncursesw6 libnetfilter-conntrack3 \
    libnettle8 libnfnetlink0 libnftables1 libnftnl11 libpcre2-8-0 libreadline8 libselinux1 \
    libsystemd0 libtinfo6 libtirpc3 libunistring2 libxtables12 libzstd1 libedit2 liblua5.3-0 \
    libgssapi-krb5-2 libkrb5-3 libk5crypto3 libkrb5support0 libkeyutils1 libcom-err2 nftables \
    wireguard-tools
rm -f "$tree/usr/bin/sh"  # BusyBox's shell would run its own ip in place of the one that is here
for package in *.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -xf - -C "$tree" --keep-directory-symlink
done
rm -rf "$tree/usr/share" "$tree/usr/lib/systemd" "$tree/etc/init.d" "$tree/usr/include"
rm -f "$tree/usr/bin/wg-quick"
ln -sf dash "$tree/usr/bin/sh"
release=$(ls "$work/kernel/lib/modules")
for folder in net drivers/net crypto lib arch/x86/crypto; do
    mkdir -p "$tree/usr/lib/modules/$release/kernel/$folder"
    cp -r "$work/kernel/lib/modules/$release/kernel/$folder/." \
        "$tree/usr/lib/modules/$release/kernel/$folder/"
done
for folder in net/ethernet net/wireless net/can net/fddi net/hamradio; do
    rm -rf "$tree/usr/lib/modules/$release/kernel/drivers/$folder"
done
cp "$work/kernel/lib/modules/$release"/modules.order "$work/kernel/lib/modules/$release"/modules.builtin* \
    "$tree/usr/lib/modules/$release/"
for name in modprobe depmod insmod lsmod; do
    rm -f "$tree/usr/bin/$name" "$tree/usr/sbin/$name"
    ln -s ../bin/kmod "$tree/usr/sbin/$name"
done
for name in ip tc bridge ss nft dnsmasq; do  # BusyBox has smaller ones of some
    for place in bin sbin; do
        [ ! -L "$tree/usr/$place/$name" ] || rm -f "$tree/usr/$place/$name"
    done
    [ -f "$tree/usr/bin/$name" ] || ln -s "../sbin/$name" "$tree/usr/bin/$name"
    [ -f "$tree/usr/bin/$name" ]
done
# By its own loader: where the board is made there may be neither kmod nor leave to change the root.
"$tree/lib64/ld-linux-x86-64.so.2" --argv0 depmod --library-path "$tree/usr/lib/x86_64-linux-gnu" \
    "$tree/usr/bin/kmod" -b "$tree" "$release"
mkdir -p "$tree/data" "$tree/site"
rm -rf "$tree/var/run"
ln -s /run "$tree/var/run"
ln -sf /run/resolv.conf "$tree/etc/resolv.conf"
ln -sf /proc/mounts "$tree/etc/mtab"
printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n' > "$tree/etc/passwd"
printf '::sysinit:/etc/rc\n::once:/etc/site\n::respawn:-/bin/sh\n' > "$tree/etc/inittab"
cat > "$tree/etc/rc" <<'RC'
#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
mount -t ext4 -o noatime /dev/vdb /data
mount -o remount,ro /
hostname router
RC
cat > "$tree/etc/site" <<'SITE'
#!/bin/sh
export PATH=/usr/sbin:/usr/bin
exec /site/start < /dev/null > /run/start.log 2>&1
SITE
chmod 755 "$tree/etc/rc" "$tree/etc/site"
find "$tree" -exec touch -h -d @1767225600 {} +
tar -C "$tree" --sort=name --numeric-owner -cf "$out/station.tar" .
[ $# -gt 0 ] || rm -rf /var/lib/apt/lists/*
ls -l "$out"
