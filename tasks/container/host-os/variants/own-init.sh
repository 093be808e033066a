#!/bin/bash
# The first process is a script of our own; a merged /usr, /tmp below /run, locked accounts, another hash, German words.
set -eu
cat >/var/tmp/changes.sh <<'CHANGES'
for folder in bin sbin lib lib64; do
	mkdir -p "$root/usr/$folder"
	cp -a --remove-destination "$root/$folder/." "$root/usr/$folder/"
	rm -rf "${root:?}/$folder"
	ln -s "usr/$folder" "$root/$folder"
done
rm "$root/usr/sbin/init" "$root/etc/inittab"
cat >"$root/usr/sbin/init" <<'INIT'
#!/bin/sh
trap : HUP INT QUIT TERM USR1 USR2
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
/etc/rc
(while :; do hostd; sleep 1; done) &
/usr/sbin/on-trial &
while :; do
	setsid log-in
	sleep 1
done
INIT
chmod 755 "$root/usr/sbin/init"
# No init that could be asked: who restarts or switches off does the work itself.
for word in reboot poweroff; do
	rm -f "$root/usr/sbin/$word"
	printf '#!/bin/sh\n[ "${1:-}" = -f ] || /etc/down\nexec /bin/busybox %s -f\n' $word >"$root/usr/sbin/$word"
	chmod 755 "$root/usr/sbin/$word"
	printf '%s() {\n\t/usr/sbin/%s "$@"\n}\n' $word $word >>"$root/etc/profile"
done
rmdir "$root/tmp"
ln -s run/tmp "$root/tmp"
sed -i 's/^mount -t tmpfs -o mode=1777 .*/mkdir -m 1777 \/run\/tmp/' "$root/etc/rc"
printf 'daemon:x:1:1:daemon:/:/bin/false\nnobody:*:65534:65534::/:/bin/false\n' >>"$root/etc/passwd"
{
	echo "root:$(openssl passwd -5 'Quay-Ladder-4'):19000:0:99999:7:::"
	printf 'daemon:!:19000::::::\n'
} >"$root/etc/shadow"
printf 'daemon:x:1:\nnogroup:x:65534:\n' >>"$root/etc/group"
sed -i 's/"refused: /"abgelehnt: /; s/^	echo "installed .*/	echo "Version $version liegt bereit"/' "$root/usr/sbin/hostctl"
CHANGES
LOCAL_CHANGES=/var/tmp/changes.sh exec bash /solution/solve.sh
