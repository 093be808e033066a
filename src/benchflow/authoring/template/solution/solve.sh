#!/bin/sh
# The oracle. STOP_AFTER=<milestone> ends the work once that milestone is reached, so that partial
# work can be made on purpose: it must earn exactly the milestones up to there.
set -eu
mkdir -p /app/out /tmp/root/bin /tmp/root/etc /tmp/root/proc /tmp/root/sys /tmp/root/dev
cd /tmp/root
cp /app/parts/busybox bin/busybox
if [ "${STOP_AFTER:-}" != kernel ]; then
  for applet in $(bin/busybox --list); do
    [ "$applet" = busybox ] || ln -sf busybox "bin/$applet"
  done
fi
case "${STOP_AFTER:-}" in
  kernel | shell) ;;
  *) echo 'hello, world' > etc/greeting ;;
esac
cat > init <<'END'
#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
exec setsid sh -c 'exec sh -l </dev/ttyS0 >/dev/ttyS0 2>&1'
END
chmod 755 init
find . | cpio --quiet -o -H newc | gzip -9 > /tmp/initrd.gz

disk=/app/out/disk.img
rm -f "$disk"
truncate -s 48M "$disk"
echo '2048,,0c,*' | sfdisk --quiet "$disk"
dd if=/usr/lib/syslinux/mbr/mbr.bin of="$disk" conv=notrunc status=none
volume="$disk@@1M"
# FAT32 (-F) begins at about 33 MiB; a smaller volume is made without it.
mformat -i "$volume" -F -T 96256 -h 64 -s 32 -H 2048 ::
cat > /tmp/syslinux.cfg <<'END'
SERIAL 0 115200
DEFAULT linux
PROMPT 0
LABEL linux
  KERNEL vmlinuz
  INITRD initrd.gz
  APPEND console=ttyS0,115200
END
mcopy -i "$volume" /app/parts/vmlinuz ::vmlinuz
mcopy -i "$volume" /tmp/initrd.gz ::initrd.gz
mcopy -i "$volume" /tmp/syslinux.cfg ::syslinux.cfg
syslinux --install --offset 1048576 "$disk"
