#!/bin/sh
# Starts an image as the bench does, with a catalogue and a network of QEMU's own on which it gets
# 10.0.2.15. Port 8080 of this machine is the box's HTTP, port 7007 (UDP) its queries; what passes is
# in frames.pcap (tcpdump -r). Type "system_powerdown" for the power button, "quit" to end.
set -eu
image=${1:-/app/out/box.img} catalogue=${2:-catalogue.img}
exec qemu-system-x86_64 -nodefaults -no-user-config -display none -machine pc -m 64 -cpu max \
	-drive "if=none,id=image,format=raw,file=$image,snapshot=on" -device ide-hd,drive=image,bus=ide.0,unit=0,bootindex=0 \
	-drive "if=none,id=catalogue,format=raw,file=$catalogue,snapshot=on" -device ide-hd,drive=catalogue,bus=ide.0,unit=1 \
	-netdev user,id=net,hostfwd=tcp:127.0.0.1:8080-:80,hostfwd=udp:127.0.0.1:7007-:7007 \
	-device virtio-net-pci,netdev=net,romfile= -object filter-dump,id=dump,netdev=net,file=frames.pcap \
	-monitor stdio
