# GRUB for BIOS, written into a disk without grub-install, which wants devices: its first sector, and
# its core image from sector 2048 on, where a partition for it begins. Wants $image, the disk, and
# $work/core.img, which `grub-mkimage -O i386-pc` has made; needs python3 and grub-pc-bin.

cp /usr/lib/grub/i386-pc/boot.img "$work/mbr"
python3 - "$image" "$work" <<'WRITE'
import struct, sys

image, work = open(sys.argv[1], "r+b"), sys.argv[2]
core = bytearray(open(f"{work}/core.img", "rb").read())
boot = bytearray(open(f"{work}/mbr", "rb").read())
START = 2048  # where the boot partition begins, which holds the core image
boot[0x5C:0x64] = struct.pack("<Q", START)
boot[0x66:0x68] = b"\x90\x90"  # a jump for floppies that hard disks do without
# The last entry of the list in its first sector tells the core image where its rest lies.
core[0x1F4:0x1FC] = struct.pack("<Q", START + 1)
image.write(boot[:440])
image.seek(START * 512)
image.write(core)
WRITE
