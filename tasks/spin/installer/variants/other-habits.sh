#!/bin/bash
# The zone is a copy, users are numbered from 3000, umask is 077, the report is REPORT.TXT on FAT, host keys are of three kinds.
set -eu
cat >/tmp/changes <<'CHANGES'
sed -i -e 's|^	ln -sf /usr/share/zoneinfo/.* \(\$T/etc/localtime\)$|	rm -f \1; cp -L $T/usr/share/zoneinfo/"$(value timezone)" \1|' \
	-e 's|^	value hostname >\$T/etc/hostname$|	printf %s "$(value hostname)" >$T/etc/hostname|' \
	-e 's/^	uid=1000$/	uid=3000/' \
	-e 's|^	rm -f \$T/etc/ssh/ssh_host_\*$|&; inside ssh-keygen -q -t ecdsa -N "" -C "" -f /etc/ssh/ssh_host_ecdsa_key; inside ssh-keygen -q -t rsa -b 2048 -N "" -C "" -f /etc/ssh/ssh_host_rsa_key|' \
	-e 's|^	mv /run/answers-disk/report.new /run/answers-disk/report.txt$|	if [ "$(blkid -o value -s TYPE "$ANSWERS")" = vfat ]; then rm -f /run/answers-disk/report.txt; mv /run/answers-disk/report.new /run/answers-disk/REPORT.TXT; else mv /run/answers-disk/report.new /run/answers-disk/report.txt; fi|' \
	"$lib/install"
printf 'HostKey /etc/ssh/ssh_host_ecdsa_key\nHostKey /etc/ssh/ssh_host_rsa_key\n' >>"$root/etc/ssh/sshd_config.d/quay.conf"
echo 'umask 077' >>"$root/etc/profile"
grep -nE '3000|localtime|REPORT|printf %s "\$\(value hostname' "$lib/install"
CHANGES
LOCAL_CHANGES=/tmp/changes bash /solution/solve.sh
