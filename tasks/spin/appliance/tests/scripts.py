"""What is run on a unit, in root's shell: questions of more than one line.

Only programs of Debian's base are used, and no bashism: nobody promised more.
"""

from __future__ import annotations

#: [R7]: every mount point but those of the demand and of the kernel's own kinds; then every
#: directory and every file of the root file system, by builtins of the shell alone.
ATTEMPTS = r"""
kernel='^(proc|sysfs|devtmpfs|devpts|cgroup2?|securityfs|debugfs|tracefs|configfs|fusectl)$'
more='^(mqueue|hugetlbfs|bpf|pstore|efivarfs|binfmt_misc|autofs|nsfs|rpc_pipefs|ramfs)$'
tries='
for d; do
  if [ -d "$d" ]; then
    if { true >"$d/.written"; } 2>/dev/null; then
      echo "can create a file in $d"; rm -f "$d/.written"
    fi
  elif { true >>"$d"; } 2>/dev/null; then echo "can write $d"; fi
done'
while read -r _ place kind _; do
  printf %s "$kind" | grep -qE -e "$kernel" -e "$more" && continue
  case $place in
  /data | /data/* | /run | /run/* | /tmp | /tmp/* | /var | /var/*) continue ;;
  /dev | /dev/* | /proc/* | /sys/*) continue ;;
  esac
  sh -c "$tries" sh "$place"
done </proc/mounts
find / -xdev \( -path /data -o -path /run -o -path /tmp -o -path /var -o -path /dev \
  -o -path /proc -o -path /sys \) -prune -o \( -type d -o -type f \) \
  -exec sh -c "$tries" sh {} + 2>/dev/null | head -n 20
:
"""

#: [R14]: eight deaths in a row, each as soon as the service's cgroup has a process again: a limit
#: of starts is met by this, on a slow machine too.
BURST = r"""
read -r group </proc/{pid}/cgroup; procs=/sys/fs/cgroup${{group#*::}}/cgroup.procs
old={pid}; n=0; tries=0
while [ $n -lt 8 ]; do
  new=; {{ read -r new <"$procs"; }} 2>/dev/null
  if [ -n "$new" ]; then kill -KILL "$new" 2>/dev/null; n=$((n+1)); old=$new; tries=0; fi
  while {{ read -r new <"$procs"; }} 2>/dev/null && [ "$new" = "$old" ]; do sleep 0.05; done
  tries=$((tries+1)); [ $tries -gt 400 ] && echo "not back after $n deaths in a row" && exit 1
  sleep 0.05
done
"""

#: [R15]: how many of the two variables of sd_notify(3) a process has.
TELLS = r"tr '\0' '\n' </proc/{pid}/environ | grep -c -e ^NOTIFY_SOCKET= -e ^WATCHDOG_USEC=; :"

#: [R19]: by kind, wherever they lie; names as Debian has them, with a target before and a version
#: behind. Links count where they lead to something that can be run.
TOOLS = (
    r"find / -xdev \( -path /proc -o -path /sys \) -prune -o \( -type f -o -type l \) -print"
    r" 2>/dev/null | grep -E '/([a-z0-9_]+-linux-gnu-)?("
    r"gcc|cc|g\+\+|c\+\+|clang(\+\+)?|tcc|cc1|cc1plus|cpp|ld|ld\.(bfd|gold|lld)|lld|gold|as|"
    r"make|gmake|cmake|ninja|meson|gdb|gdbserver|lldb|python[23]?|pypy3?|micropython|"
    r"dpkg-buildpackage|debuild|fakeroot|debootstrap|cdebootstrap|mmdebstrap|mkosi|lb|"
    r"genisoimage|xorriso|qemu-img|mksquashfs|mkfs\.erofs|rpmbuild|git|curl|wget2?|aria2c|axel"
    r")(-?[0-9]+(\.[0-9]+)*)?$' | "
    'while read -r t; do [ -f "$t" ] && [ -x "$t" ] && echo "$t"; done; :'
)

#: [R20]
LEFTOVERS = r"""
words='a torn last record was never acknowledged'
find /var/cache/apt /var/lib/apt/lists -type f ! -name lock 2>/dev/null | head -n 5
find / -xdev \( -name '*.deb' -o -name '*.udeb' -o -name 'skerryd.[ch]' -o -name .git \) 2>/dev/null
find / /data /var -xdev -type f -size +7k -size -200k -exec grep -lF "$words" {} + 2>/dev/null
find /usr/include /usr/src -type f 2>/dev/null | head -n 5
find /usr/share/man /usr/share/info -type f ! -name dir 2>/dev/null | head -n 5
:
"""

#: [R22]: 14 MB of noise that cannot be compressed much, while somebody looks how much is taken.
FLOOD = """
(peak=0; while [ ! -e /run/flood-is-over ]; do
  used=$(du -sk /var/log/ 2>/dev/null | cut -f 1)
  [ "$used" -gt $peak ] && peak=$used && echo $peak >/run/peak
  sleep 2
done) & line=$(head -c 24000 /dev/urandom | base64 -w 0); i=0
while [ $i -lt 450 ]; do echo $i $line; i=$((i+1)); done | systemd-cat -t noise
sleep 3; journalctl --sync; sleep 3; touch /run/flood-is-over; wait
"""


def listener(port: int) -> str:
    """Who listens on a TCP port: its number, other than systemd's own."""
    return f"""
inode=$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
  awk '$4 == "0A" && $2 ~ /:{port:04X}$/ {{print $10}}' | head -n 1)
find /proc/[0-9]*/fd -lname "socket:\\[$inode\\]" 2>/dev/null |
  cut -d / -f 3 | grep -vx 1 | grep -m 1 .
"""
