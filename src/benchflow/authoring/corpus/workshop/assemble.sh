#!/bin/sh
# Makes what needs file systems and boot loaders, from /in to /out: an ESP, a printing CD, and a
# stock system as a disk that is a CD too, for BIOS and UEFI alike.
set -eu
mkdir -p /out /work/cd /work/root/bin /work/grub/boot/grub

mformat -C -f 2880 -i /out/esp.img ::
mmd -i /out/esp.img ::/EFI ::/EFI/BOOT
mcopy -i /out/esp.img /in/printing.efi ::/EFI/BOOT/BOOTX64.EFI

cp /in/printing.cd /out/esp.img /work/cd/
xorriso -as mkisofs -quiet -o /out/printing.iso -b printing.cd -no-emul-boot -boot-load-size 60 \
  -eltorito-alt-boot -e esp.img -no-emul-boot /work/cd

cd /work/root
mkdir proc sys dev tmp
cp /bin/busybox bin/busybox
cp -r /in/answers /in/said /in/replay .
cp /in/init init
chmod 755 init
find . | cpio --quiet -o -H newc | gzip -1 > /work/grub/initrd.gz

cp /stock/vmlinuz /work/grub/vmlinuz
cp /in/said /work/grub/said
cat > /work/grub/boot/grub/grub.cfg <<END
serial --unit=0 --speed=115200
terminal_input serial
terminal_output serial
cat /said
linux /vmlinuz console=ttyS0,115200 $(cat /in/cmdline)
initrd /initrd.gz
boot
END
grub-mkrescue -o /out/stock.iso /work/grub 2>/work/log || { tail /work/log; exit 1; }
cp /work/grub/vmlinuz /work/grub/initrd.gz /out/
