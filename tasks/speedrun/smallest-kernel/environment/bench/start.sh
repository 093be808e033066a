#!/bin/sh
# Starts a kernel as our units do, on this terminal: start.sh KERNEL INITRAMFS [WORDS…]
# DISKS="one.img two.img" are its disks; Ctrl-A X ends it.
set -eu
kernel=$1 initramfs=$2
shift 2
for disk in ${DISKS:-}; do
	set -- "$@" -drive "if=virtio,format=raw,file=$disk"
done
words="console=ttyS0"
for word; do
	case $word in -*) break ;; esac
	words="$words $word"
	shift
done
exec qemu-system-x86_64 -nodefaults -machine pc -cpu max -smp 2 -m 512 -nographic \
	-chardev stdio,id=line,mux=on,signal=off -serial chardev:line -mon chardev=line \
	-kernel "$kernel" -initrd "$initramfs" -append "$words" -device virtio-rng-pci -device i6300esb \
	-nic user,model=virtio-net-pci -nic user,model=virtio-net-pci "$@"
