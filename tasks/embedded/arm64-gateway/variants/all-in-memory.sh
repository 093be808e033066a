#!/bin/bash
# The whole system is the initramfs, a shell of ours is its init and looks after the services, and there are two partitions alone.
set -euo pipefail
cp -r /solution /tmp/honest
cat >/tmp/changes <<'CHANGES'
rm -rf "$work/initrd/root" "$work/initrd/init" "$root/etc/inittab"
cat >"$root/init" <<'INIT'
#!/bin/sh
export PATH=/bin:/sbin:/usr/bin:/usr/sbin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
exec </dev/null >/dev/kmsg 2>&1
while read -r module; do insmod "/lib/modules/$module"; done </lib/modules/first
until grep -qs '^PARTNAME=data$' /sys/class/block/*/uevent; do sleep 1; done
mount -o remount,ro /
/etc/rc
keep() { while :; do "$@"; sleep 1; done; }
for work in names uplink page vakt; do
	keep /usr/lib/gw/run "$work" </dev/null >/dev/null 2>&1 &
done
keep setsid getty -L 115200 ttyAMA0 linux &
while :; do wait; sleep 1; done
INIT
chmod 755 "$root/init"
mv "$work/initrd/modules" "$root/lib/modules/first"
mv "$work"/initrd/lib/*.ko "$root/lib/modules/"
rm -rf "$work/initrd" "$root/bin/init" "$root/sbin/init" "$root/linuxrc"
mv "$root" "$work/initrd"
CHANGES
python3 - <<'PY'
path = "/tmp/honest/solve.sh"
text = open(path).read()
def put(old, new):
    global text
    assert text.count(old) == 1, old
    text = text.replace(old, new)
at, end = text.index("truncate -s 26M"), text.index("image=$work/gateway.img")
text = text[:at] + text[end:]
put("start=2048, size=77824, type=U, name=boot\nstart=79872, size=53248, type=linux, name=system\n",
    "start=2048, size=131072, type=U, name=all\n")
put("-T 77824", "-T 131072")
put("dd if=", ": dd if=")
put("quiet ipv6.disable=1 panic=5", "loglevel=5 ipv6.disable=1 panic=5 rdinit=/init")
open(path, "w").write(text)
PY
LOCAL_CHANGES=/tmp/changes bash /tmp/honest/solve.sh
