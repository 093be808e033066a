#!/bin/bash
# Builds /app/out/disk.img. STOP_AFTER=<milestone> leaves out, on purpose, what the next milestone
# asks for. LOCAL_CHANGES names a file that is sourced before the disk is made.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /var/tmp/mosquitto-build.XXXXXX)
trap 'rm -rf "$work"' EXIT
root=$work/root
export LC_ALL=C

ladder="starts tests answers users access limits sessions rebuild change office trust late secrets
restart sources rotation elsewhere"
from-tasks-lib ladder.sh

# ---- the system ----

system=/var/tmp/mosquitto-system.tar
packages=python3,gcc,make,libc6-dev,libssl-dev,libcjson-dev,rsync
password=Tide-Harbour-58
set --
from-tasks-lib no-documentation.sh
from-tasks-lib service-system.sh
mknod -m 666 "$root/dev/null" c 1 3

# ---- the project ----

chroot "$root" useradd --system --home-dir /nonexistent --shell /usr/sbin/nologin mosquitto
lib=$root/usr/lib/mosquitto-project
mkdir -p "$root/srv" "$root/usr/local/lib/mosquitto" "$lib"
cp -r /app/mosquitto "$root/srv/mosquitto"
cp -r "$here/files/holm-seal" "$root/srv/mosquitto/plugins/holm-seal"
has sources || echo '/* ours */' >>"$root/srv/mosquitto/src/xtreport.c"
install -m 644 -t "$lib" "$here"/files/build.sh "$here"/files/*.py
install -m 755 -t "$lib" "$here/files/read-settings"
install -m 755 -t "$root/usr/local/bin" "$here/files/project-test" "$here/files/project-build"
install -m 644 "$here/files/mosquitto.service" "$root/etc/systemd/system/mosquitto.service"
has answers && chroot "$root" systemctl --quiet enable mosquitto.service

# Built here once, with what tests need: the machine compiles what has changed.
chroot "$root" /usr/local/bin/project-build only
chroot "$root" /usr/local/bin/project-test

# ---- what is left out for the ladder ----

configure=$lib/configure.py
has tests || sed -i 's/^for name; do/exit 1\n&/' "$root/usr/local/bin/project-test"
has users || sed -i 's/"allow_anonymous false"/"allow_anonymous true"/' "$configure"
has access || sed -i '/"acl_file /d' "$configure"
has limits || sed -i '/"max_queued_messages /d' "$configure"
has sessions || sed -i 's/"persistence true"/"retain_available false"/' "$configure"
has rebuild || sed -i '/^replace src/d' "$root/usr/local/bin/project-build"
has change || sed -i '/"plugin_opt/d; /f"plugin {PLUGIN}"/d' "$configure"
has office || sed -i 's/f"remote_password .*"/"remote_password none"/' "$configure"
has trust || sed -i 's/"notifications false"/&,\n        "bridge_insecure true"/' "$configure"
has late || sed -i 's/"cleansession false"/"cleansession true"/' "$configure"
has secrets || sed -i 's/^umount.*/cp \/run\/settings\/settings.env \/var\/lib\/settings.env\n&/' "$lib/read-settings"
has restart || sed -i 's/"autosave_interval 10"/"autosave_interval 1800"/' "$configure"
has rotation || sed -i 's/^python3/[ -e \/var\/lib\/office-ca.pem ] || cp \/run\/mosquitto\/office-ca.pem \/var\/lib\/office-ca.pem\ninstall -m 400 \/var\/lib\/office-ca.pem \/run\/mosquitto\/office-ca.pem\n&/' "$lib/read-settings"

if [ -n "${LOCAL_CHANGES:-}" ]; then
	. "$LOCAL_CHANGES"
fi
rm -f "$root/dev/null"

# ---- the disk ----

drivers="virtio_pci virtio_blk sd_mod ext4"
has elsewhere && drivers="$drivers ahci ata_piix"
has starts || rm "$root/sbin/init"
image=$work/disk.img
system_mb=1600
from-tasks-lib service-disk.sh
from-tasks-lib grub-core.sh
mkdir -p /app/out
mv "$image" /app/out/disk.img
ls -ls /app/out
