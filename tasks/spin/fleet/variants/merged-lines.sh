#!/bin/bash
# The ledger begins with one line for each register; its unit has another name, its user a home, and ledger.conf is written out by awk.
set -eu
cat >/tmp/changes <<'CHANGES'
cat >"$ledger/DEBIAN/postinst" <<'POSTINST'
#!/bin/sh
set -e
at=/var/lib/holm-ledger
id holm-ledger >/dev/null 2>&1 || useradd --system --home-dir $at --no-create-home --shell /bin/false holm-ledger
mkdir -p $at
chown holm-ledger: $at
chmod 700 $at
if [ ! -e $at/ledger ]; then
	{ cat /var/lib/holm-registry/registers 2>/dev/null ||
		grep -H '' /var/lib/holm-tally/* 2>/dev/null | sed 's/.*\/\([^:]*\):/\1 /'; } |
		awk 'NF == 2 { sum[$1] += $2 } END { for (one in sum) print one, sum[one] }' | sort >$at/.begin
	chown holm-ledger: $at/.begin
	sync $at/.begin
	mv $at/.begin $at/ledger
fi
if [ ! -e /etc/holm/ledger.conf ]; then
	of=/usr/share/holm-ledger/ledger.conf
	for was in /etc/holm/tally.conf /etc/holm/registry.conf; do
		[ ! -e $was ] || of="$of $was"
	done
	awk -F= 'FNR == NR { line[++n] = $0; key[n] = $1; next }
		($1 == "name" || $1 == "port") { new[$1] = $0 }
		END { for (i = 1; i <= n; i++) print (key[i] in new) ? new[key[i]] : line[i] }' $of >/etc/holm/.ledger.conf
	chmod 644 /etc/holm/.ledger.conf
	sync /etc/holm/.ledger.conf
	mv /etc/holm/.ledger.conf /etc/holm/ledger.conf
fi
sync
mkdir -p /etc/systemd/system/multi-user.target.wants
ln -sf /usr/lib/systemd/system/registers.service /etc/systemd/system/multi-user.target.wants/registers.service
[ ! -d /run/systemd/system ] || { systemctl daemon-reload; systemctl restart registers.service; }
POSTINST
mv "$ledger/usr/lib/systemd/system/holm-ledger.service" "$ledger/usr/lib/systemd/system/registers.service"
sed -i -e 's/^StartLimit.*/StartLimitBurst=1000000/' -e 's/^RestartSec=.*/RestartSec=5/' "$ledger/usr/lib/systemd/system/registers.service"
printf '#!/bin/sh\nset -e\n[ ! -d /run/systemd/system ] || systemctl stop registers.service\n' >"$ledger/DEBIAN/prerm"
printf '#!/bin/sh\nset -e\n[ "$1" != purge ] || rm -rf /var/lib/holm-ledger /etc/holm/ledger.conf /etc/systemd/system/multi-user.target.wants/registers.service\n' >"$ledger/DEBIAN/postrm"
CHANGES
LOCAL_CHANGES=/tmp/changes bash /solution/solve.sh
