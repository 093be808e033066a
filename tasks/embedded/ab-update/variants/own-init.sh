#!/bin/bash
# The first process is a script of our own; a merged /usr, /tmp below /run, locked accounts, another hash, German words, a health script of the slot's own.
set -eu
cat >/tmp/changes <<'CHANGES'
for folder in bin sbin lib lib64; do
	mkdir -p "$root/usr/$folder"
	cp -a --remove-destination "$root/$folder/." "$root/usr/$folder/"
	rm -rf "${root:?}/$folder"
	ln -s "usr/$folder" "$root/$folder"
done
rm "$root/usr/sbin/init" "$root/etc/inittab"
cat >"$root/usr/sbin/init" <<'INIT'
#!/bin/sh
trap : HUP INT QUIT TERM
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
/etc/rc
/usr/sbin/on-trial
while :; do
	setsid getty -L 115200 ttyS0 vt100
	sleep 1
done
INIT
chmod 755 "$root/usr/sbin/init"
rmdir "$root/tmp"
ln -s run/tmp "$root/tmp"
sed -i 's/^mount -t tmpfs -o mode=1777 .*/mkdir -m 1777 \/run\/tmp/' "$root/etc/rc"
printf 'daemon:x:1:1:daemon:/:/bin/false\nnobody:*:65534:65534::/:/bin/false\n' >>"$root/etc/passwd"
{
	echo "root:$(openssl passwd -5 'Lock-Chamber-7'):19000:0:99999:7:::"
	printf 'daemon:!:19000::::::\n'
} >"$root/etc/shadow"
printf 'daemon:x:1:\nnogroup:x:65534:\n' >>"$root/etc/group"
sed -i 's/"refused: /"abgelehnt: /; s/^	echo "installed .*/	echo "Version $version liegt nun in Fach $target"/' "$root/usr/sbin/update"
printf '#!/bin/sh\necho "Der Satz ist gut."\n' >"$root/etc/health.d/10-own"
chmod 755 "$root/etc/health.d/10-own"
ln -s health.d "$root/etc/checks"
CHANGES
LOCAL_CHANGES=/tmp/changes bash /solution/solve.sh
