#!/bin/bash
# BIOS by isolinux (a hybrid image with a DOS table, initrd= on its command line), UEFI by a GRUB in an image of its own.
set -euo pipefail
cp -r /solution /tmp/isolinux
python3 - <<'PY'
path = "/tmp/isolinux/solve.sh"
text = open(path).read()
start = text.index("burn() {")
end = text.index("# xorriso patches what it starts from")
text = text[:start] + r"""
options=$(sed -n 's/^set options="\(.*\)"$/\1/p' "$menu")
mkdir -p "$tree/isolinux"
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/{ldlinux,libutil,libcom32,menu}.c32 "$tree/isolinux/"
cat >"$tree/isolinux/isolinux.cfg" <<CONFIG
SERIAL 0 115200
UI menu.c32
PROMPT 0
NOESCAPE 1
ALLOWOPTIONS 0
NOCOMPLETE 1
TIMEOUT 60
MENU IMMEDIATE
MENU TITLE Expo
DEFAULT wall
LABEL wall
	MENU LABEL Expo Wall 4.1
	KERNEL /live/vmlinuz
	INITRD /live/initrd.img
	APPEND $options
LABEL rescue
	MENU LABEL Expo Wall 4.1 ^rescue
	KERNEL /live/vmlinuz
	INITRD /live/initrd.img
	APPEND $options systemd.unit=expo-rescue.target
CONFIG
touch "$tree/live/$edition"
printf 'search --no-floppy --file --set=root /live/%s\nset prefix=($root)/boot/grub\nconfigfile $prefix/grub.cfg\n' "$edition" >"$work/early.cfg"
grub-mkstandalone -O x86_64-efi -o "$work/BOOTX64.EFI" --locales= --fonts= --themes= \
	--modules="part_gpt part_msdos iso9660 fat search search_fs_file configfile normal linux serial terminal efi_gop efi_uga password_pbkdf2 all_video" \
	"boot/grub/grub.cfg=$work/early.cfg"
mkfs.vfat -C "$work/efi.img" 16384 >/dev/null
mmd -i "$work/efi.img" ::/EFI ::/EFI/BOOT
mcopy -i "$work/efi.img" "$work/BOOTX64.EFI" ::/EFI/BOOT/
mv "$work/efi.img" "$tree/boot/grub/efi.img"
burn() {
	rm -f "$medium"
	xorriso -as mkisofs -quiet -R -J -V EXPO_WALL_41 -volset "$edition" -o "$medium" \
		-isohybrid-mbr /usr/lib/ISOLINUX/isohdpfx.bin \
		-b isolinux/isolinux.bin -c isolinux/boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table \
		-eltorito-alt-boot -e boot/grub/efi.img -no-emul-boot -isohybrid-gpt-basdat "$tree" >&2
}
""" + text[end:]
open(path, "w").write(text)
PY
bash /tmp/isolinux/solve.sh
