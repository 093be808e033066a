#!/bin/bash
# Builds /app/out/gateway.img. STOP_AFTER=<milestone> leaves out, on purpose, what the later
# milestones ask for. LOCAL_CHANGES names a file that is sourced before the system is packed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=/app/out
order=/app/order
work=$(mktemp -d /var/tmp/gateway-build.XXXXXX)
trap 'rm -rf "$work"' EXIT
root=$work/root

ladder="image boots readonly leases names uplink routes cache shut forwards page vakt applies lasts
recovers keeps overlaps wires login power-cuts"
from-tasks-lib ladder.sh

mkdir "$work/debs"
for deb in /app/packages/*.deb; do
	dpkg-deb -x "$deb" "$work/debs"
done

# ---- the system's tree ----

mkdir -p "$root"/{bin,sbin,usr/bin,usr/sbin,usr/lib,lib/modules,etc,dev,proc,sys,run,tmp,data,root,srv}
cp "$work/debs/bin/busybox" "$root/bin/busybox"
# The build machine's busybox is the same version, and can be asked for its names.
for applet in $(busybox --list-full); do
	mkdir -p "$root/${applet%/*}"
	[ -e "$root/$applet" ] || ln -s /bin/busybox "$root/$applet"
done
python3 - "$work/debs" "$root" dnsmasq nft mke2fs <<'COPY'
"""Copies programs with all the libraries that they are linked to."""
import pathlib, shutil, subprocess, sys

debs, root = map(pathlib.Path, sys.argv[1:3])
libraries = {path.name: path for path in debs.rglob("*.so*") if "aarch64-linux-gnu" in str(path)}
waiting = [next(path for path in debs.rglob(name) if path.is_file() and path.parent.name in ("bin", "sbin"))
           for name in sys.argv[3:]]
for program in waiting:
    target = root / "usr/sbin" / program.name
    target.unlink(missing_ok=True)
    shutil.copy(program, target)
(root / "lib/aarch64-linux-gnu").mkdir(parents=True)
loader = libraries["ld-linux-aarch64.so.1"]
shutil.copy(loader, root / "lib/ld-linux-aarch64.so.1")
done = {"ld-linux-aarch64.so.1"}
while waiting:
    said = subprocess.run(["aarch64-linux-gnu-readelf", "-d", str(waiting.pop())],
                          capture_output=True, text=True, check=True).stdout
    for line in said.splitlines():
        if "(NEEDED)" in line:
            name = line.split("[")[1].rstrip("]")
            if name not in done:
                done.add(name)
                shutil.copy(libraries[name], root / "lib/aarch64-linux-gnu" / name)
                waiting.append(libraries[name])
COPY
rm -f "$root/sbin/mke2fs" && ln -s /usr/sbin/mke2fs "$root/sbin/mke2fs"
cp "$work/debs/etc/mke2fs.conf" "$root/etc/"
cp -r "$here/rootfs/." "$root/"
cp "$order/site.conf" "$root/usr/lib/gw/factory.conf"
printf 'root:x:0:0:root:/root:/bin/sh\nvakt:x:100:100:::/bin/false\n' >"$root/etc/passwd"
printf 'root:x:0:\nvakt:x:100:\n' >"$root/etc/group"
echo "root:$(openssl passwd -6 'Sluice-Valve-9'):19000:0:99999:7:::" >"$root/etc/shadow"
chmod 600 "$root/etc/shadow"

# On the boards where it was written `char` has a sign; on this one it has none unless asked.
sign=-fsigned-char
has vakt || sign=-funsigned-char
aarch64-linux-gnu-gcc -O2 -static $sign -o "$root/usr/bin/vakt" "$order/vakt.c"
aarch64-linux-gnu-strip "$root/usr/bin/vakt"

# ---- modules, in the order in which they have to be loaded ----

tree=$(echo "$work"/debs/lib/modules/*)
# load MODULE...: the files of these modules and of what they need
load() {
	python3 - "$tree" "$@" <<'ORDER'
import pathlib, re, sys

tree = pathlib.Path(sys.argv[1])
built = {pathlib.Path(line).stem.replace("-", "_") for line in (tree / "modules.builtin").read_text().split()}
paths = {path.stem.replace("-", "_"): path for path in tree.rglob("*.ko")}
done = []
def add(name):
    name = name.replace("-", "_")
    if not name or name in done or name in built:
        return
    for need in re.findall(rb"\0depends=([^\0]*)", paths[name].read_bytes())[0].decode().split(","):
        add(need)
    done.append(name)
for name in sys.argv[2:]:
    add(name)
print(*(paths[name] for name in done), sep="\n")
ORDER
}
first="virtio_pci virtio_blk crc32c_generic"
mkdir -p "$work"/initrd/{bin,lib,proc,sys,dev,root}
for module in $(load $first); do
	cp "$module" "$work/initrd/lib/"
	echo "${module##*/}" >>"$work/initrd/modules"
done
for module in $(load $first virtio_net virtio_rng af_packet nf_tables nft_ct nft_nat nft_masq nft_chain_nat nft_limit \
	nft_log nf_log_syslog nft_fib nft_fib_ipv4 nft_fib_inet nft_objref); do
	grep -qx "${module##*/}" "$work/initrd/modules" && continue
	cp "$module" "$root/lib/modules/"
	echo "${module##*/}" >>"$root/lib/modules/order"
done
cp "$root/bin/busybox" "$work/initrd/bin/"
install -m 755 "$here/initrd-init" "$work/initrd/init"

# ---- what is left out for the ladder: of the milestone after $STOP_AFTER, just too little ----

gw=$root/usr/lib/gw
has boots || sed -i 's/^root:[^:]*/root:*/' "$root/etc/shadow"
has readonly || echo 'mount -o remount,rw /' >>"$root/etc/rc"
has leases || sed -i 's/,\$(value lease)$/,9000/' "$gw/enforce"
has names || sed -i '/^dhcp-ignore-names/d' "$gw/enforce"
has uplink || sed -i 's/^bound | renew)/renew)/' "$gw/uplink"
has routes || sed -i '/oifname "lan" ct state established,related/s/,related//' "$gw/enforce"
has cache || sed -i '/^stop-dns-rebind/d' "$gw/enforce"
has shut || sed -i '/arp_ignore/d' "$root/etc/rc"
has forwards || sed -i '/ct status dnat masquerade/d' "$gw/enforce"
has page || sed -i '/^echo "refused=/d' "$root/srv/cgi-bin/index.cgi"
has applies || sed -i 's/ || length(\$2) != 32//' "$root/usr/sbin/site-check"
has lasts || sed -i 's/^\t\tct status dnat jump open/\t\tct state established accept\n&/' "$gw/enforce"
has recovers || sed -i 's/respawn\(:.*page\)/once\1/' "$root/etc/inittab"
has keeps || sed -i '/value lease/s/\$(date +%s)/0/' "$root/etc/rc"
has overlaps || sed -i 's/^\tif \[ \$((.*/\tif false; then/' "$gw/uplink"
has wires || echo 'for card in /sys/class/net/eth*; do ip link set "${card##*/}" up; udhcpc -nq -t 2 -T 1 -i "${card##*/}" -s /bin/true >/dev/null 2>&1 & done' >>"$root/etc/rc"
has login || echo 'toor::0:0:::/bin/sh' >>"$root/etc/passwd"
has power-cuts || sed -i 's/^\t.usr.sbin.mke2fs .*/\ttrue/' "$root/etc/rc"
if [ -n "${LOCAL_CHANGES:-}" ]; then
	. "$LOCAL_CHANGES"
fi

# ---- the disk: firmware's partition, the system, the data ----

(cd "$work/initrd" && find . | cpio --quiet -o -H newc -R 0:0 | gzip -1 >"$work/initrd.gz")
truncate -s 26M "$work/system"
# Without a journal nothing is left to be replayed into a system that must never be written.
mke2fs -q -t ext4 -O ^has_journal,^resize_inode -m 0 -b 1024 -d "$root" -E root_owner=0:0 -L system "$work/system"
image=$work/gateway.img
truncate -s 80M "$image"
sfdisk -q "$image" <<'TABLE'
label: gpt
start=2048, size=77824, type=U, name=boot
start=79872, size=53248, type=linux, name=system
start=133120, size=28672, type=linux, name=data
TABLE
export MTOOLS_SKIP_CHECK=1
esp=$image@@1M
mformat -i "$esp" -T 77824 ::
mmd -i "$esp" ::/EFI ::/EFI/BOOT ::/loader ::/loader/entries
printf 'timeout 0\n' >"$work/loader.conf"
printf 'title gateway\nlinux /vmlinuz\ninitrd /initrd\noptions console=ttyAMA0,115200 quiet ipv6.disable=1 panic=5\n' >"$work/gateway.conf"
mcopy -i "$esp" "$work/debs/usr/lib/systemd/boot/efi/systemd-bootaa64.efi" ::/EFI/BOOT/BOOTAA64.EFI
mcopy -i "$esp" "$work/loader.conf" ::/loader/
mcopy -i "$esp" "$work/gateway.conf" ::/loader/entries/
mcopy -i "$esp" "$work"/debs/boot/vmlinuz-* ::/vmlinuz
mcopy -i "$esp" "$work/initrd.gz" ::/initrd
dd if="$work/system" of="$image" bs=1M seek=39 conv=notrunc,sparse status=none
mkdir "$work/data"
mke2fs -q -t ext4 -d "$work/data" -E offset=$((133120 * 512)),root_owner=0:0 -L data "$image" 14M
mkdir -p "$out"
mv "$image" "$out/gateway.img"
ls -ls "$out"
