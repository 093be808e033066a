#!/bin/bash
# It tells of its start on the console in lines of its own, does not echo what is typed, and its shell
# has the commands of a Debian (bash, mount, cat), which call the kernel by other ways than BusyBox.
set -eu
cat >/tmp/changes <<'CHANGES'
with_libraries "$root" /bin/bash /bin/mount /bin/cat /bin/dd /bin/ls /bin/grep /bin/touch /bin/mknod
sed -i 's/^state >\/run\/state$/echo "Vakt 5: UNIT WAKING, please wait" >\/dev\/ttyS0\necho "UNIT STATE PENDING" >\/dev\/ttyS0\n&/' "$rc"
sed -i -e 's/ -echoctl min 1/ -echoctl -echo min 1/' -e 's/ \/bin\/sh -i)$/ \/bin\/bash --norc -i)/' "$desk"
grep -q WAKING "$rc" && grep -q -- '-echo min' "$desk" && grep -q norc "$desk"
CHANGES
LOCAL_CHANGES=/tmp/changes bash /solution/solve.sh
