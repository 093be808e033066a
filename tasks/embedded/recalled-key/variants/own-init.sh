#!/bin/bash
# The first process is a script of its own, accounts more than one, another hash, German words, a health script of the slot's own.
set -eu
cat >/tmp/changes <<'CHANGES'
rm "$root/sbin/init" "$root/etc/inittab"
cat >"$root/sbin/init" <<'INIT'
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
chmod 755 "$root/sbin/init"
printf 'daemon:x:1:1:daemon:/:/bin/false\n' >>"$root/etc/passwd"
{
	echo "root:$(openssl passwd -5 'Lock-Chamber-7'):19000:0:99999:7:::"
	printf 'daemon:!:19000::::::\n'
} >"$root/etc/shadow"
sed -i 's/"refused: /"abgelehnt: /' "$root/usr/sbin/update"
printf '#!/bin/sh\necho "Der Satz ist gut."\n' >"$root/etc/health.d/10-own"
chmod 755 "$root/etc/health.d/10-own"
CHANGES
LOCAL_CHANGES=/tmp/changes bash /solution/solve.sh
