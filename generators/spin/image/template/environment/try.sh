#!/bin/sh
# A unit with a copy of the image $1, its console here; port {{port_service}} of the unit is port 7000
# of this machine. Ctrl-A X ends it.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp --sparse=always "$1" "$work/disk"
truncate -s +64M "$work/disk"
set -- -drive "file=$work/disk,format=raw,if=virtio"
case {{axis_boot_name}} in
uefi) set -- "$@" -machine q35 -bios /usr/share/ovmf/OVMF.fd ;;
direct)
    start=$(sfdisk -l -o Start "$work/disk" | awk '/^ *[0-9]+$/ {print $1; exit}')
    for name in vmlinuz initrd cmdline; do
        mcopy -i "$work/disk@@$((start * 512))" "::$name" "$work/$name"
    done
    set -- "$@" -kernel "$work/vmlinuz" -initrd "$work/initrd" -append "$(cat "$work/cmdline")"
    ;;
esac
qemu-system-x86_64 -m 256 -nographic "$@" \
    -nic user,model=virtio-net-pci,hostfwd=tcp:127.0.0.1:7000-:{{port_service}}
