#!/bin/bash
# Builds /app/out/disk.img. STOP_AFTER=<milestone> leaves out, on purpose, what the next milestone
# asks for. LOCAL_CHANGES names a file that is sourced before the disk is made.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /var/tmp/kinto-build.XXXXXX)
trap 'rm -rf "$work"' EXIT
root=$work/root
export LC_ALL=C

ladder="starts dependencies tests answers accounts database cache mail change secrets sources restart
late quiet rotation elsewhere"
from-tasks-lib ladder.sh

# ---- the system ----

system=/var/tmp/kinto-system.tar
packages=python3-minimal,python3-venv
password=Salt-Fjord-26
set --
from-tasks-lib no-documentation.sh
from-tasks-lib service-system.sh

# ---- the project ----

chroot "$root" useradd --system --home-dir /nonexistent --shell /usr/sbin/nologin kinto
mkdir -p "$root/srv"
cp -r /app/kinto /app/kinto-emailer "$root/srv/"
has sources || echo '# ours' >>"$root/srv/kinto/kinto/__init__.py"
mkdir -p "$root/build"
cp -r /app/wheels "$root/build/"
cp -r /app/kinto "$root/build/kinto"
cp -r /app/kinto-emailer "$root/build/emailer"
chroot "$root" sh -e <<'INSTALL'
python3 -m venv /opt/kinto
/opt/kinto/bin/pip install -q --no-index --find-links /build/wheels --no-deps /build/wheels/*.whl
/opt/kinto/bin/pip install -q --no-index --no-deps --no-build-isolation /build/kinto /build/emailer
INSTALL
rm -rf "$root/build" "$root/root/.cache"
has dependencies || rm -rf "$root"/opt/kinto/lib/python3.11/site-packages/kinto_emailer*
install -D -m 644 "$here/files/kinto.service" "$root/etc/systemd/system/kinto.service"
install -D -m 755 -t "$root/usr/lib/kinto" "$here/files/read-settings"
install -D -m 644 -t "$root/usr/lib/kinto" "$here/files/run.py" "$here/files/collection_digest.py"
install -m 755 "$here/files/project-test" "$root/usr/local/bin/project-test"
printf '#!/bin/sh\nexec /opt/kinto/bin/python "$@"\n' | put 755 /usr/local/bin/project-python
has answers && chroot "$root" systemctl --quiet enable kinto.service

# ---- what is left out for the ladder ----

run=$root/usr/lib/kinto/run.py
has tests || sed -i 's/^exec .*/exit 1/' "$root/usr/local/bin/project-test"
has accounts || sed -i 's/^kinto.bucket_create_principals.*/kinto.bucket_create_principals = system.Everyone/' "$run"
has database || sed -i 's/core.storage.postgresql/core.storage.memory/; s/core.permission.postgresql/core.permission.memory/' "$run"
has cache || sed -i 's/core.cache.redis/core.cache.memory/' "$run"
has mail || sed -i '/^mail\.password/d' "$run"
has secrets || sed -i 's/^umask.*/umask 022/; s/^umount.*/cp \/run\/settings\/settings.env \/var\/lib\/settings.env/' "$root/usr/lib/kinto/read-settings"
has restart || echo 'rm -f /etc/systemd/system/multi-user.target.wants/kinto.service' >>"$root/usr/lib/kinto/read-settings"
if ! has late; then
	sed -i 's/^Restart=always/Restart=no/' "$root/etc/systemd/system/kinto.service"
	sed -i '/^    wait_for($/,/^    )$/d' "$run"
fi
has quiet || sed -i 's/^    import waitress$/    __import__("subprocess").run(["sh", "-c", "sleep 5", told["ADMIN_PASSWORD"]])\n&/' "$run"
has rotation || sed -i 's/^    if create_user/    accounts = env["registry"].storage.count_all(resource_name="account", parent_id="admin")\n    if not accounts and create_user/' "$run"
has change || sed -i 's/ collection_digest$//' "$run"

if [ -n "${LOCAL_CHANGES:-}" ]; then
	. "$LOCAL_CHANGES"
fi

# ---- the disk ----

drivers="virtio_pci virtio_blk sd_mod ext4"
has elsewhere && drivers="$drivers ahci ata_piix"
has starts || rm "$root/sbin/init"
image=$work/disk.img
system_mb=2040
from-tasks-lib service-disk.sh
from-tasks-lib grub-core.sh
mkdir -p /app/out
mv "$image" /app/out/disk.img
ls -ls /app/out
