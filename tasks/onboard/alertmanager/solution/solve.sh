#!/bin/bash
# Builds /app/out/disk.img. STOP_AFTER=<milestone> leaves out, on purpose, what the next milestone
# asks for. LOCAL_CHANGES names a file that is sourced before the disk is made.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /var/tmp/alertmanager-build.XXXXXX)
trap 'rm -rf "$work"' EXIT
root=$work/root
export LC_ALL=C

ladder="starts tests answers web audit tickets pager mail trust routes duty change rebuild cluster
secrets late restart sources rotation elsewhere"
from-tasks-lib ladder.sh

# ---- the system ----

system=/var/tmp/alertmanager-system.tar
packages=python3,tzdata,golang-1.19-go,golang-1.19-src,patch
password=Salt-Fjord-26
set --
from-tasks-lib no-documentation.sh
from-tasks-lib service-system.sh
mknod -m 666 "$root/dev/null" c 1 3
ln -s ../lib/go-1.19/bin/go "$root/usr/bin/go"

# ---- the project ----

chroot "$root" useradd --system --home-dir /nonexistent --shell /usr/sbin/nologin alertmanager
chroot "$root" useradd --create-home --shell /bin/sh duty
lib=$root/usr/lib/alertmanager
mkdir -p "$root/srv" "$lib/go/src/github.com/prometheus" "$root/etc/prometheus" "$root/usr/share/prometheus"
cp -r /app/alertmanager "$root/srv/alertmanager"
has change && chroot "$root" patch -s -d /srv/alertmanager -p1 <"$here/files/signed.patch"
has sources || echo '// ours' >>"$root/srv/alertmanager/inhibit/inhibit.go"
ln -s /srv/alertmanager "$lib/go/src/github.com/prometheus/alertmanager"
ln -s /srv/alertmanager/template "$root/usr/share/prometheus/alertmanager"
install -m 644 -t "$lib" "$here"/files/go-env.sh "$here"/files/*.py
install -m 755 -t "$lib" "$here/files/read-settings"
install -m 755 -t "$root/usr/local/bin" "$here/files/project-test" "$here/files/project-build"
install -m 644 "$here/files/alertmanager.service" "$root/etc/systemd/system/alertmanager.service"
ln -s /run/amtool/config.yml "$root/etc/prometheus/amtool.yml"
has answers && chroot "$root" systemctl --quiet enable alertmanager.service

# Of Debian's Go packages those that the project or one of its tests imports.
path=$work/path
mkdir -p "$path/src/github.com/prometheus"
ln -s /app/alertmanager "$path/src/github.com/prometheus/alertmanager"
tested=$(cd /app/alertmanager && find . -name '*_test.go' -printf '%h\n' | sort -u | sed 's#^\.#github.com/prometheus/alertmanager#')
(
	export GOPATH=$path:/usr/share/gocode GO111MODULE=off CGO_ENABLED=0
	cd /
	# shellcheck disable=SC2086
	go list -deps -test -f '{{if not .Standard}}{{.Dir}}{{end}}' $tested \
		github.com/prometheus/alertmanager/cmd/alertmanager github.com/prometheus/alertmanager/cmd/amtool
) | grep ^/usr/share/gocode/src/ | sort -u | while read -r folder; do
	# With /v2 in its name a package is found by the go.mod above it.
	above=$folder
	while [ "$above" != /usr/share/gocode/src ]; do
		[ ! -e "$above/go.mod" ] || install -D -m 644 "$above/go.mod" "$lib/go${above#/usr/share/gocode}/go.mod"
		above=$(dirname "$above")
	done
	mkdir -p "$lib/go${folder#/usr/share/gocode}"
	find "$folder/" -maxdepth 1 -type f ! -name '*_test.go' -exec cp -t "$lib/go${folder#/usr/share/gocode}" {} +
done

chroot "$root" sh -e <<BUILD
. /usr/lib/alertmanager/go-env.sh
cd /
go build -o /usr/local/bin/alertmanager \$project/cmd/alertmanager
go build -o /usr/local/bin/amtool \$project/cmd/amtool
BUILD
# What tests need besides: the machine compiles some, and links.
chroot "$root" sh -e <<'BUILD'
. /usr/lib/alertmanager/go-env.sh
cd /
for package in pkg/labels types silence nflog template notify/webhook; do
	go test -vet=off -run '^$' $project/$package >/dev/null
done
BUILD
rm -rf "$root"/tmp/* "$root"/root/.config

# ---- what is left out for the ladder ----

configure=$lib/configure.py
has tests || sed -i 's/^exec .*/exit 1/' "$root/usr/local/bin/project-test"
has web || sed -i '/"basic_auth_users"/d' "$configure"
has audit || sed -i 's/"Bearer"/"Token"/' "$configure"
has tickets || sed -i 's/"password": told\["TICKET_PASSWORD"\]/"password": "none"/' "$configure"
has pager || sed -i '/"tls_config": CA,$/{/^        "tls_config"/d}' "$configure"
has mail || sed -i '/"auth_password"/d' "$configure"
has trust || sed -i 's/^CA = {/&"insecure_skip_verify": True, /' "$configure"
has routes || sed -i 's/"target_matchers": .*/"target_matchers": ["severity=never"],/' "$configure"
has duty || rm "$root/etc/prometheus/amtool.yml"
has change || sed -i 's/, signing_key_file="signing.key"//' "$configure"
has rebuild || sed -i '/amtool.new/d; /alertmanager.new/d' "$root/usr/local/bin/project-build"
has late || sed -i 's/^    os.umask(0o077)$/&\n    wait_for_audit()/' "$configure"
has cluster || sed -i 's/if told.get("CLUSTER_MAC")/if told.get("NEVER")/' "$configure"
has secrets || sed -i 's/^umount.*/cp \/run\/settings\/settings.env \/var\/lib\/settings.env\n&/' "$lib/read-settings"
has restart || sed -i '/maintenance-interval/d' "$configure"
has rotation || sed -i 's/^exec python3/[ -e \/var\/lib\/ca.pem ] || cp \/run\/alertmanager\/ca.pem \/var\/lib\/ca.pem\ninstall -m 444 \/var\/lib\/ca.pem \/run\/alertmanager\/ca.pem\n&/' "$lib/read-settings"

if [ -n "${LOCAL_CHANGES:-}" ]; then
	. "$LOCAL_CHANGES"
fi
rm -f "$root/dev/null"

# ---- the disk ----

drivers="virtio_pci virtio_blk sd_mod ext4"
has elsewhere && drivers="$drivers ahci ata_piix"
has starts || rm "$root/sbin/init"
image=$work/disk.img
system_mb=3060
from-tasks-lib service-disk.sh
from-tasks-lib grub-core.sh
mkdir -p /app/out
mv "$image" /app/out/disk.img
ls -ls /app/out
