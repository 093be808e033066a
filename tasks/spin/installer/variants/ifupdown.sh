#!/bin/bash
# The network is ifupdown's and not systemd's, with the kernel's own name of the card.
set -eu
cat >/tmp/changes <<'CHANGES'
chroot "$root" systemctl --quiet disable systemd-networkd.service
sed -i -e '/^		printf .\[Match\]/,/^	} >\$T\/etc\/systemd\/network\/20-wired.network$/c\
		printf "auto lo\\niface lo inet loopback\\nauto eth0\\n"\
		if [ "$(value address)" = dhcp ]; then\
			echo "iface eth0 inet dhcp"\
		else\
			printf "iface eth0 inet static\\n\\taddress %s\\n\\tgateway %s\\n" "$(value address)" "$(value gateway)"\
		fi\
	} >$T/etc/network/interfaces' -e 's/ ro console=tty0/ ro net.ifnames=0&/' "$lib/install"
sed -n '/auto lo/,/interfaces/p' "$lib/install"
CHANGES
sed -e 's/ifupdown-,/ifupdown,isc-dhcp-client,/' -e 's|^cache=.*|cache=/var/tmp/quay-cache-ifupdown|' \
	/solution/solve.sh >/tmp/solve.sh
cp -r /solution/medium /tmp/medium
LOCAL_CHANGES=/tmp/changes bash /tmp/solve.sh
