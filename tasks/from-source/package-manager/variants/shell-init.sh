#!/bin/bash
# Process 1 is a shell with traps instead of BusyBox's init.
set -eu
work=$(mktemp -d)
cp -r /solution/. "$work"
rm "$work/rootfs/etc/inittab"
mkdir -p "$work/rootfs/sbin"
cat >"$work/rootfs/sbin/init" <<'INIT'
#!/bin/sh
# The text is read to its end first, so that an upgrade of this file finds nobody reading it.
exec /bin/sh -c "$(cat /etc/init.d/first)"
INIT
cat >"$work/rootfs/etc/init.d/first" <<'FIRST'
export PATH=/sbin:/usr/sbin:/bin:/usr/bin
end() {
	trap '' TERM USR1 USR2
	/etc/init.d/down
	exec "$1" -f
}
trap 'end reboot' TERM
trap 'end poweroff' USR2
trap 'end halt' USR1
/etc/init.d/rcS
while :; do
	setsid getty -L 115200 ttyS0 vt100 &
	wait $!
done
FIRST
cd "$work"
sed -i 's/chmod 755 \$tree\/etc\/init.d\/\* /chmod 755 $tree\/sbin\/init $tree\/etc\/init.d\/* /' solve.sh
sed -i 's/^    \[ -e "\$tree\$link" \] ||/    [ "$link" = \/sbin\/init ] || [ -e "$tree$link" ] ||/' solve.sh
sed -i "s/! -name down /! -name down ! -name first /; s/^has stands || .*/has stands || exit 2/" solve.sh
bash "$work/solve.sh"
