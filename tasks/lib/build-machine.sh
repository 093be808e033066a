# A Debian in which delivered source is built inside of QEMU, for benchflow.bench.source_builder: in
# $bench builder.img (a system with a toolchain, of this image's own packages), vmlinuz and initrd.gz.
# Wants $bench and $work, folders; $toolchain, packages that are installed, with what they depend on,
# and busybox-static, e2fsprogs, cpio and xz-utils; $probe, a command that has to end well in that
# system; $kernel, the package of its kernel, if not the one that linux-image-cloud-amd64 is today.
# Leaves $work/kernel, that package's files.

root=$work/root
mkdir -p "$root/dev" "$root/proc" "$root/tmp" "$root/source" "$root/etc"
apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
	--no-enhances $toolchain | grep '^[a-z0-9]' | sort -u > "$work/closure"
dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' | sed -n 's/^ii *//p' | sort -u > "$work/installed"
comm -12 "$work/closure" "$work/installed" | xargs dpkg-query -L |
	grep -E '^/(bin|sbin|lib|lib64|usr/(bin|lib|lib64|include|libexec|src))(/|$)' |
	grep -v -E '/(python3?|locale|gconv)(/|$)' | sort -u > "$work/files"
(cd / && for link in bin sbin lib lib64; do [ -L $link ] && echo $link; done) > "$work/links"
(cd / && tar -cf - --no-recursion -T "$work/links") | tar -xf - -C "$root"
(cd / && sed 's,^/,,' "$work/files" | while read -r path; do
	case $path in bin | sbin | lib | lib64) continue ;; esac
	# Packages name files by the directories that were merged into /usr.
	case $path in bin/* | sbin/* | lib/* | lib64/*) [ -L "${path%%/*}" ] && path=usr/$path ;; esac
	[ -e "$path" ] || [ -L "$path" ] && echo "$path"
done) | sort -u > "$work/paths"
(cd / && tar -cf - --no-recursion -T "$work/paths") | tar -xf - -C "$root"
cp -a /etc/alternatives "$root/etc/"
ln -sf mawk "$root/usr/bin/awk"
printf 'root:x:0:0::/:/bin/sh\nbuilder:x:1000:1000::/tmp:/bin/sh\n' > "$root/etc/passwd"
printf 'root:x:0:\nbuilder:x:1000:\n' > "$root/etc/group"
mkdir "$root/tmp/probe"
chroot "$root" /bin/sh -c "cd /tmp/probe && $probe" > "$work/probe.log" 2>&1 ||
	{ cat "$work/probe.log"; exit 1; }
rm -rf "$root/tmp/probe"
chmod 1777 "$root/tmp"
size=$(du -sm "$root" | cut -f1)
rm -f "$bench/builder.img"
mke2fs -q -t ext4 -O ^has_journal -N 60000 -E root_owner=0:0 -d "$root" "$bench/builder.img" \
	"$((size + size / 8 + 60))M"

mkdir -p "$work/download" "$work/kernel"
: "${kernel:=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p')}"
(cd "$work/download" && apt-get -q -o APT::Sandbox::User=root download "$kernel")
dpkg-deb -x "$work"/download/linux-image-*.deb "$work/kernel"
cp "$work"/kernel/boot/vmlinuz-* "$bench/vmlinuz"
initrd=$work/initrd
mkdir -p "$initrd/bin" "$initrd/dev" "$initrd/proc" "$initrd/root" "$initrd/modules"
cp /bin/busybox "$initrd/bin/busybox"
for module in virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk; do
	cp "$(find "$work/kernel/lib/modules" -name "$module.ko*")" "$initrd/modules/"
done
cat > "$initrd/init" <<'INIT'
#!/bin/busybox sh
# Process 1 of the machine in which delivered source is built. Disks: the system, the source, and one
# that takes what was made: a line about it in its first sector, the log behind that, then the files
# that build_takes= names, from 1 MiB on, each 16 MiB further.
set -u
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t devtmpfs dev /dev
for module in virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk; do
	insmod /modules/$module.ko
done
mount -o ro -t ext4 /dev/vda /root
mount -o ro,nosuid,nodev -t ext2 /dev/vdb /root/source
mount -t devtmpfs dev /root/dev
mount -t proc -o hidepid=2 proc /root/proc
mount -t tmpfs -o mode=1777,size=640m,nosuid,nodev tmp /root/tmp
chmod 600 /dev/vd? /dev/mem /dev/ttyS0 /dev/console /dev/kmsg 2>/dev/null
echo "building"
cp -r /root/source/source /root/tmp/source
chown -R 1000:1000 /root/tmp/source
limit=$(sed -n 's/.*build_seconds=\([0-9]*\).*/\1/p' /proc/cmdline)
takes=$(sed -n 's/.*build_takes=\([^ ]*\).*/\1/p' /proc/cmdline | tr , ' ')
cat > /root/tmp/make.sh <<'SH'
cd /tmp/source && umask 022 && ulimit -f 131072 && exec env -i HOME=/tmp PATH=/usr/bin:/bin LC_ALL=C make
SH
begun=$(cut -d. -f1 /proc/uptime)
# What is built is somebody else's program: no privileges, no devices, an end.
timeout -s KILL "$limit" setsid chroot /root /usr/bin/setpriv --reuid 1000 --regid 1000 --clear-groups \
	--no-new-privs --bounding-set=-all /bin/sh /tmp/make.sh > /log 2>&1 < /dev/null
status=$?
ended=$(cut -d. -f1 /proc/uptime)
# Nothing of it runs on: process 1 alone is left, and the kernel's threads.
for try in 1 2 3; do kill -KILL -1 2>/dev/null; done
sizes=
at=1
for name in $takes; do
	size=0
	file=/root/tmp/source/$name
	if [ -f $file ] && [ ! -L $file ]; then
		size=$(stat -c %s $file)
		[ "$size" -le 16777216 ] && dd if=$file of=/dev/vdc bs=1M seek=$at conv=notrunc 2>/dev/null
	fi
	sizes="$sizes $size"
	at=$((at + 16))
done
tail -c 60000 /log | dd of=/dev/vdc bs=512 seek=1 conv=notrunc 2>/dev/null
printf 'status=%s seconds=%s sizes=%s\n' "$status" "$((ended - begun))" "${sizes# }" |
	dd of=/dev/vdc bs=512 conv=notrunc 2>/dev/null
sync
poweroff -f
INIT
chmod 755 "$initrd/init"
(cd "$initrd" && find . | cpio -o -H newc --quiet | gzip -9) > "$bench/initrd.gz"
