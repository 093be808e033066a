"""What is run on a unit, in root's shell: questions of more than one line.

Only programs of Debian's base are used, and no bashism: nobody promised more.
"""

from __future__ import annotations

#: [R7]: every mount point but those of the demand and of the kernel's own kinds (where files can
#: be made in one, as in a ramfs, its place counts and not its kind); then every directory and
#: every file of the root file system, by builtins of the shell alone.
ATTEMPTS = r"""
kernel='^(proc|sysfs|devpts|cgroup2?|securityfs|debugfs|tracefs|configfs|fusectl)$'
more='^(bpf|pstore|efivarfs|binfmt_misc|autofs|nsfs|rpc_pipefs)$'
tries='
for d; do
  if [ -d "$d" ]; then
    if { true >"$d/WRITTEN"; } 2>/dev/null; then
      echo "can create a file in $d"; rm -f "$d/WRITTEN"
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

#: Where files of a unit can lie: the root file system, with what its mount points hide, and
#: whatever else is mounted that is none of the kernel's.
EVERYWHERE = r"""
under=/run/all-of-it; mkdir -p $under; mount --bind / $under 2>/dev/null || under=/
places="$under $(awk '$2 != "/" && $3 !~ /^(proc|sysfs|devtmpfs|devpts|cgroup2?|.*autofs|nsfs)$/ &&
  $2 !~ /^\/(proc|sys|dev|run\/all-of-it)/ {print $2}' /proc/mounts)"
"""

#: [R19]: by kind, wherever they lie; names as Debian has them, with a target before and a version
#: behind. Links count where they lead to something that can be run, other than busybox, of which
#: the order says that what it can do is no concern.
TOOLS = (
    EVERYWHERE + r"find $places -xdev \( -type f -perm /111 -o -type l \) -print"
    r" 2>/dev/null | grep -E '/([a-z0-9_]+-linux-gnu-)?("
    r"gcc|cc|g\+\+|c\+\+|clang(\+\+)?|tcc|cc1|cc1plus|cpp|ld|ld\.(bfd|gold|lld)|lld|gold|as|mold|"
    r"gfortran|rustc|go|ghc|javac|nasm|yasm|make|gmake|bmake|cmake|ninja|meson|gdb|gdbserver|lldb|"
    r"python[23]?|pypy3?|micropython|"
    r"dpkg-buildpackage|debuild|fakeroot|debootstrap|cdebootstrap|mmdebstrap|mkosi|lb|genisoimage|"
    r"mkisofs|xorriso|qemu-img|mksquashfs|mkfs\.erofs|rpmbuild|git|curl|wget2?|aria2c|axel|lftp|lynx"
    r")(-?[0-9]+(\.[0-9]+)*)?$' | "
    "while read -r t; do "
    'case $(readlink -f "$t") in */busybox) [ -L "$t" ] && continue ;; esac; '
    '[ -f "$t" ] && { [ -x "$t" ] || [ ! -L "$t" ]; } && echo "$t"; done; '
    "[ $under = / ] || umount -l $under 2>/dev/null; :"
)

#: [R20]: what packages have inside of /usr/lib and /usr/share is not asked about, such as perl's.
LEFTOVERS = (
    EVERYWHERE
    + r"""
words='a torn last record was never acknowledged'
find $places -xdev -type f \( -path '*/var/cache/apt/*' -o -path '*/var/lib/apt/lists/*' \
  -o -path '*/man/man[1-9]*/*' -o -path '*/usr/share/man/*' -o -path '*/share/info/*' \
  -o -path '*/usr/include/*' -o -path '*/usr/src/*' -o -name '*.deb' -o -name '*.udeb' \
  -o -name 'skerryd.[ch]*' -o -name 'skerryd*.tar*' -o -path '*/.git/*' \
  -o -name '*.[ch]' ! -path '*/usr/share/*' ! -path '*/usr/lib/*' \) \
  ! -name lock ! -name dir 2>/dev/null | head -n 20
find $places -xdev -type f -size +7k -size -2048k -exec grep -lF "$words" {} + 2>/dev/null
[ $under = / ] || umount -l $under 2>/dev/null
:
"""
)

#: [R6]: what has a file capability, by copies without their contents.
CAPABLE = r"""
at=/run/capable; mkdir -p $at
find / \( -path /proc -o -path /sys -o -path /dev -o -path $at \) -prune -o -type f -perm /111 \
  -exec cp --parents --attributes-only --preserve=xattr -t $at {} + 2>/dev/null
tar -C $at --xattrs --xattrs-include=security.capability -cf - . 2>/dev/null |
  tar --xattrs --xattrs-include=security.capability -tvf - 2>/dev/null |
  sed -n 's|^-[^ ]*[*] .* [.]/|/|p'
rm -rf $at
"""

#: [R6]: of paths on standard input those that are in no package, or are not what was in it.
NOT_DEBIANS = r"""
while read -r p; do
  dpkg-query -S "$p" >/dev/null 2>&1 || dpkg-query -S "${p#/usr}" >/dev/null 2>&1 || echo "$p"
  sum=$(cat /var/lib/dpkg/info/*.md5sums 2>/dev/null |
    awk -v p="${p#/}" '$2 == p || "usr/" $2 == p {print $1}' | head -n 1)
  [ -z "$sum" ] || [ "$sum" = "$(md5sum <"$p" | cut -c -32)" ] || echo "$p"
done; :
"""

#: [R6]: disks and memory that others than root and its groups may open.
OPEN_DEVICES = r"find /dev \( -type b -o -name mem -o -name kmem -o -name port \) -perm /006; :"

#: [R21]: programs and libraries that no listed package has, but for the customer's.
UNLISTED = r"""
dpkg-query -W -f '${db:Status-Status} ${binary:Package}\n' |
  sed -n 's/^installed //p' | xargs dpkg-query -L |
  sed 's|^/usr||' | sort -u >/run/listed
find /usr/bin /usr/sbin /usr/lib/x86_64-linux-gnu /usr/lib/systemd -xdev -type f -perm /111 \
  -o -path '*/usr/lib/*.so.*' -type f | sed 's|^/usr||' | sort -u >/run/there
comm -13 /run/listed /run/there | grep -vx /bin/skerryd; :
"""

#: [R21]: licences that are not what the package brought.
OTHER_LICENCES = r"""
cd / && grep -h ' usr/share/doc/[^/]*/copyright$' /var/lib/dpkg/info/*.md5sums 2>/dev/null |
  md5sum -c --quiet 2>/dev/null; :
"""

#: [R15]: the service's state is something that it cannot read to its end; back as it was as soon as
#: a process has opened it. Then the unit's own clock: its manager counts by it too, and 75 s are
#: more than a minute and less than systemd's usual 90.
HANG_AT_START = r"""
cd /data/skerry && mv logbook logbook.kept && mkfifo logbook &&
  chown --reference=logbook.kept logbook
kill -KILL {pid}; n=0; hung=
while [ -z "$hung" ] && [ $n -lt 150 ]; do
  sleep 0.2; n=$((n+1))
  hung=$(find /proc/[0-9]*/fd -lname '*/logbook' 2>/dev/null | cut -d / -f 3 |
    grep -vx {pid} | head -n 1)
done
rm logbook; mv logbook.kept logbook
[ -n "$hung" ] || {{ echo "nobody opens the logbook again"; exit 1; }}
read -r up _ </proc/uptime; end=$((${{up%.*}} + 75))
while kill -0 $hung 2>/dev/null; do
  sleep 1; read -r up _ </proc/uptime
  [ ${{up%.*}} -lt $end ] || {{ echo "it still hangs after 75 s"; exit 1; }}
done
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
