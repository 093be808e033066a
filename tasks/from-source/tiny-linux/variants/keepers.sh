#!/bin/bash
# No runit: a keeper of ours for each service, which restarts after four seconds; ifconfig and route; logs of other sizes; words in German.
set -euo pipefail
work=$(mktemp -d)
cp -a /solution/. "$work"
cd "$work/rootfs"
mkdir etc/dienste
sed 's/ -s 64 -b 2/ -s 30 -b 6/' etc/sv/syslogd/run > etc/dienste/syslogd
for name in klogd dhcp power ledgerd; do cp etc/sv/$name/run etc/dienste/$name; done
sed -i 's/^ip link set eth0 up/ifconfig eth0 up/' etc/dienste/dhcp
rm -r etc/sv
cat > etc/udhcpc.script <<'SCRIPT'
#!/bin/sh
case $1 in
deconfig) ifconfig "$interface" 0.0.0.0 ;;
bound | renew)
    ifconfig "$interface" "$ip" netmask "${subnet:-255.255.255.0}"
    while route del default dev "$interface" 2> /dev/null; do :; done
    for gateway in $router; do route add default gw "$gateway" dev "$interface"; done
    : > /run/resolv.conf
    for server in $dns; do printf 'nameserver\t%s\n' "$server" >> /run/resolv.conf; done
    hostname "${hostname:-tiny}"
    ;;
esac
SCRIPT
cat > etc/waechter <<'SCRIPT'
#!/bin/sh
name=$1 d=/run/dienste/$1
mkdir -p $d
while :; do
    if [ -e $d/halt ]; then
        sleep 0.3
        continue
    fi
    /etc/dienste/$name < /dev/null > /dev/null 2>&1 &
    pid=$!
    echo $pid > $d/pid
    wait $pid
    how=$?
    rm -f $d/pid
    [ -e $d/halt ] && continue
    read -r now rest < /proc/uptime
    now=${now%.*} kept= n=1
    for then in $(cat $d/tode 2> /dev/null); do
        [ $((now - then)) -lt 60 ] && kept="$kept $then" n=$((n + 1))
    done
    echo "$kept $now" > $d/tode
    logger -t wächter "$name endete ($how), zum $n. Mal in einer Minute"
    if [ $n -ge 6 ]; then
        touch $d/aus $d/halt
        logger -t wächter "Dienst aufgegeben: $name failed"
    else
        sleep 4
    fi
done
SCRIPT
cat > usr/sbin/svc <<'SCRIPT'
#!/bin/sh
all="dhcp klogd ledgerd power syslogd"
pid_of() {
    pid=
    [ -e /run/dienste/$1/pid ] && read -r pid < /run/dienste/$1/pid
    [ -n "$pid" ] && kill -0 "$pid" 2> /dev/null
}
halt() {
    local n=0 signal=TERM
    touch /run/dienste/$1/halt
    while pid_of "$1"; do
        [ $n = 50 ] && signal=KILL
        [ $((n % 50)) = 0 ] && kill -$signal "$pid"
        sleep 0.2
        n=$((n + 1))
    done 2> /dev/null
    rm -f /run/dienste/$1/aus
}
go() {
    local n=0
    rm -f /run/dienste/$1/aus /run/dienste/$1/tode /run/dienste/$1/halt
    until pid_of "$1" || [ $n = 50 ]; do sleep 0.2; n=$((n + 1)); done
}
if [ "$1" = status ]; then
    for name in $all; do
        state=down
        [ -e /run/dienste/$name/aus ] && state=failed
        if pid_of $name; then
            printf '%-12s%s\t%s\n' $name up "$pid"
        else
            printf '%-12s%s\t-\n' $name $state
        fi
    done
    exit 0
fi
[ "$(id -u)" = 0 ] || { echo 'svc: nur root darf das' >&2; exit 77; }
case " $all " in *" ${2:-?} "*) ;; *) echo "svc: den Dienst »$2« gibt es nicht" >&2; exit 66 ;; esac
case $1 in
start) go "$2" ;;
stop) halt "$2" ;;
restart) halt "$2"; go "$2" ;;
*) exit 64 ;;
esac
SCRIPT
sed -i '/^# \/run is noexec/,$d' etc/init.d/rcS
sed -i '/runsvdir/d' etc/inittab
for name in syslogd klogd dhcp power ledgerd; do echo "::respawn:/etc/waechter $name" >> etc/inittab; done
cat > etc/init.d/shutdown <<'SCRIPT'
#!/bin/sh
exec < /dev/null > /dev/console 2>&1
logger -t ende 'Die Dienste werden angehalten.'
for name in ledgerd power dhcp klogd; do svc stop $name; done
logger -t ende 'Alles hält; zuletzt das Protokoll.'
sleep 0.5
svc stop syslogd
for signal in TERM KILL; do
    for proc in /proc/[0-9]*; do
        pid=${proc#/proc/}
        [ "$pid" = 1 ] || [ "$pid" = $$ ] || [ ! -e "$proc/exe" ] || kill -$signal "$pid" 2> /dev/null
    done
    sleep 1
done
umount /data || mount -o remount,ro /data
echo 'Die Platte ist in Ordnung.'
SCRIPT
printf 'Anlage \\n\\n' > etc/issue
sed -i -e 's|root/etc/sv root/etc/acpi|root/etc/waechter root/etc/dienste root/etc/acpi|' "$work/solve.sh"
bash "$work/solve.sh"
