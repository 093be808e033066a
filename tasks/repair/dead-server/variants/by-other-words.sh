#!/bin/bash
# The same by other words: partitions and devices in fstab, maps and chains in the firewall, what SSH
# does anyway said aloud, more words to the kernel, a prompt at a speed of its own; a shell that was
# never asked for masked, leftovers of a start without mounts.
set -euo pipefail
bash /solution/solve.sh
disk=/app/out/server.img
system="$disk?offset=1048576"
work=$(mktemp -d)
put() { # put LOCAL PATH [MODE]
    debugfs -w -f - "$system" > /dev/null 2>&1 <<CMD
rm $2
write $1 $2
sif $2 mode 010${3:-0644}
CMD
    debugfs -R "cat $2" "$system" 2> /dev/null | cmp - "$1"
}
debugfs -w -f - "$system" > /dev/null 2>&1 <<'CMD'
cd /etc/systemd/system
symlink debug-shell.service /dev/null
mkdir /etc/systemd/system/serial-getty@ttyS0.service.d
cd /etc/systemd/system/getty.target.wants
rm getty@tty1.service
symlink getty@tty1.service ../../../../lib/systemd/system/getty@.service
mkdir /etc/ssh/sshd_config.d
mkdir /run/lock
sif /run/lock mode 041777
sif /var/backups/tally uid 0
sif /var/backups/tally mode 040770
cd /dev
mknod null c 1 3
sif null mode 020666
CMD
: > "$work/utmp"
put "$work/utmp" /run/utmp 0664
debugfs -w -R 'sif /run/utmp gid 43' "$system" 2> /dev/null
printf '[Service]\nExecStart=\nExecStart=-/sbin/agetty -o "-p -- \\\\u" 115200 %%I $TERM\n' > "$work/prompt"
put "$work/prompt" /etc/systemd/system/serial-getty@ttyS0.service.d/speed.conf
printf 'PermitRootLogin prohibit-password\nPasswordAuthentication yes\n' > "$work/sshd"
put "$work/sshd" /etc/ssh/sshd_config.d/local.conf
cat > "$work/nftables.conf" <<'NFT'
#!/usr/sbin/nft -f
flush ruleset
table inet filter {
	chain services {
		accept
	}
	chain input {
		type filter hook input priority filter; policy drop;
		iif "lo" accept
		ct state vmap { established : accept, related : accept, invalid : drop }
		icmp type echo-request accept
		icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-advert } accept
		udp sport 67 udp dport 68 accept
		tcp dport 22 jump services
		meta l4proto . th dport { tcp . 4710 } accept
	}
	chain forward {
		type filter hook forward priority filter; policy drop;
	}
}
NFT
put "$work/nftables.conf" /etc/nftables.conf
debugfs -R 'cat /boot/grub/grub.cfg' "$system" 2> /dev/null | sed 's,console=ttyS0\,115200,console=tty0 console=ttyS0\,115200n8 systemd.log_level=info init=/lib/systemd/systemd apparmor=1 mitigations=auto,' > "$work/grub.cfg"
grep -c mitigations "$work/grub.cfg"
put "$work/grub.cfg" /boot/grub/grub.cfg
id=$(sfdisk --disk-id "$disk")
printf 'PARTUUID=%s-03 /srv/tally ext4 nodev,nosuid 0 2\n/dev/vda2 none swap sw 0 0\n' "${id#0x}" > "$work/fstab"
echo '/dev/vda1 / ext4 errors=remount-ro 0 1' >> "$work/fstab"
put "$work/fstab" /etc/fstab
sed '/^RemainAfterExit/d' /tmp/repair/ledger-check.service > "$work/check"
put "$work/check" /etc/systemd/system/ledger-check.service
e2fsck -fn "$system"
