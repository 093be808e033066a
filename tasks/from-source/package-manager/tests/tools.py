"""The commands of BusyBox's default configuration, and what their options do."""

from __future__ import annotations

import random
from datetime import UTC, datetime

# Of BusyBox 1.35.0; without linuxrc, which lies in no PATH.
COMMANDS = """
[ [[ acpid add-shell addgroup adduser adjtimex arch arp arping ascii ash awk base32 base64 basename
bc beep blkdiscard blkid blockdev bootchartd brctl bunzip2 bzcat bzip2 cal cat chat chattr chgrp
chmod chown chpasswd chpst chroot chrt chvt cksum clear cmp comm conspy cp cpio crc32 crond crontab
cryptpw cttyhack cut date dc dd deallocvt delgroup deluser depmod devmem df dhcprelay diff dirname
dmesg dnsd dnsdomainname dos2unix dpkg dpkg-deb du dumpkmap dumpleases echo ed egrep eject env
envdir envuidgid ether-wake expand expr factor fakeidentd fallocate false fatattr fbset fbsplash
fdflush fdformat fdisk fgconsole fgrep find findfs flock fold free freeramdisk fsck fsck.minix
fsfreeze fstrim fsync ftpd ftpget ftpput fuser getopt getty grep groups gunzip gzip halt hd hdparm
head hexdump hexedit hostid hostname httpd hush hwclock i2cdetect i2cdump i2cget i2cset i2ctransfer
id ifconfig ifdown ifenslave ifplugd ifup inetd init insmod install ionice iostat ip ipaddr ipcalc
ipcrm ipcs iplink ipneigh iproute iprule iptunnel kbd_mode kill killall killall5 klogd last less
link linux32 linux64 ln loadfont loadkmap logger login logname logread losetup lpd lpq lpr ls lsattr
lsmod lsof lspci lsscsi lsusb lzcat lzma lzop makedevs makemime man md5sum mdev mesg microcom mim
mkdir mkdosfs mke2fs mkfifo mkfs.ext2 mkfs.minix mkfs.vfat mknod mkpasswd mkswap mktemp modinfo
modprobe more mount mountpoint mpstat mt mv nameif nanddump nandwrite nbd-client nc netstat nice nl
nmeter nohup nologin nproc nsenter nslookup ntpd od openvt partprobe passwd paste patch pgrep pidof
ping ping6 pipe_progress pivot_root pkill pmap popmaildir poweroff powertop printenv printf ps pscan
pstree pwd pwdx raidautorun rdate rdev readahead readlink readprofile realpath reboot reformime
remove-shell renice reset resize resume rev rm rmdir rmmod route rpm rpm2cpio rtcwake run-init
run-parts runlevel runsv runsvdir rx script scriptreplay sed sendmail seq setarch setconsole
setfattr setfont setkeycodes setlogcons setpriv setserial setsid setuidgid sh sha1sum sha256sum
sha3sum sha512sum showkey shred shuf slattach sleep smemcap softlimit sort split ssl_client
start-stop-daemon stat strings stty su sulogin sum sv svc svlogd svok swapoff swapon switch_root
sync sysctl syslogd tac tail tar taskset tc tcpsvd tee telnet telnetd test tftp tftpd time timeout
top touch tr traceroute traceroute6 true truncate ts tty ttysize tunctl ubiattach ubidetach ubimkvol
ubirename ubirmvol ubirsvol ubiupdatevol udhcpc udhcpc6 udhcpd udpsvd uevent umount uname unexpand
uniq unix2dos unlink unlzma unshare unxz unzip uptime users usleep uudecode uuencode vconfig vi
vlock volname w wall watch watchdog wc wget which who whoami whois xargs xxd xz xzcat yes zcat zcip
"""


def rows(draw: random.Random, word: str) -> list[str]:
    """Lines `stem-word number`, no two of one number."""
    numbers = draw.sample(range(10, 10**6), 12)
    return [f"{draw.choice(('alp', 'fen', 'oar'))}-{word} {number}" for number in numbers]


def probes(draw: random.Random, word: str, there: list[str]) -> dict[str, str]:
    """Commands, and what they print in a folder with the file `rows`, which holds `there`.

    Each wants an option that a smaller configuration lacks, or a reckoning with what was drawn.
    """
    a, b = draw.randrange(100, 999), draw.randrange(20, 60)
    size = sum(len(row) + 1 for row in there)
    last = max(there, key=lambda row: int(row.split()[1]))
    seconds = draw.randrange(10**9, 2 * 10**9)
    when = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    upper = word.upper()
    first, number, stem = there[0].split()[1], there[-1].split()[1], there[-1][:3]
    swapped = "s/^([a-z]+)-.* ([0-9]+)$/\\2:\\1/"
    total = sum(int(row.split()[1]) for row in there)
    return {
        f"awk 'BEGIN {{ printf \"%.3f %d\", exp(log({a})), {a} ^ 2 }}'": f"{a:.3f} {a * a}",
        "awk 'function f(x) { return 3 * x } { n[$2] = f($2) } END { for (k in n) s += n[k]; "
        "print s, toupper(substr($1, 1, 3)) }' rows": f"{3 * total} {stem.upper()}",
        "sort -k 2,2nr rows | head -n 1": last,
        "sort -t ' ' -k 2n -s -o sorted rows; tail -n +12 sorted": last,
        "printf '1.10\\n1.9\\n' | sort -V | tr '\\n' ' '": "1.9 1.10",
        f"cp rows e; sed -E -i '{swapped}' e; sed -n '$p' e": f"{number}:{stem}",
        f"grep -o -E '[0-9]+$' rows | head -n 1; grep -c -F {word} rows": f"{first}\n{len(there)}",
        "find . -maxdepth 1 -type f -name 'ro*' -size -9k -mmin -600 ! -newer rows -perm -400 "
        "-exec stat -c '%n %s' {} +": f"./rows {size}",
        "stat -c '%s %F' rows": f"{size} regular file",
        f"mkdir -p d1 d2; echo {word} >d2/x; echo {upper} >d1/x; diff -r -u d1 d2 | "
        "grep '^[-+][^-+]'": f"-{upper}\n+{word}",
        "mkdir -p t/u; cp rows t/u/; : >t/no; tar -czf t.tgz --exclude=no t; "
        "tar -tzf t.tgz; tar -xzf t.tgz -O t/u/rows | cmp - rows": "t/\nt/u/\nt/u/rows",
        "sha256sum rows >s; sha256sum -c -s s && echo fits; sha512sum rows | wc -c": "fits\n135",
        "printf 'a b\\0c\\0' | xargs -0 -n 1 echo": "a b\nc",
        f"date -u -d @{seconds} '+%Y-%m-%d %H:%M:%S'": when,
        "dd if=rows bs=4 count=3 iflag=skip_bytes,count_bytes skip=4 2>/dev/null": word[:3],
        f"echo '2^{b}' | bc; echo '2 {b} ^ p' | dc": f"{2**b}\n{2**b}",
        "base64 rows | base64 -d | gzip -9 | zcat | cmp - rows && echo same": "same",
        f"printf '%s' {word} | od -A n -t x1 | tr -d ' \\n'": word.encode().hex(),
        f"x={word}; echo ${{x:2:5}} ${{x#??}} $((0x10 + 2 ** 10))": f"{word[2:7]} {word[2:]} 1040",
        "ls -l --full-time rows | wc -w; head -c -1 rows | wc -c": f"9\n{size - 1}",
        "echo rows | cpio -o -H newc 2>/dev/null | cpio -t 2>/dev/null": "rows",
        f"seq -w 8 {a} | head -n 1": "008",
    }
