#!/bin/bash
# It tells of its start in lines of its own, echoes nothing, and has bash and Debian's mount and cat.
set -eu
cat >/tmp/changes <<'CHANGES'
with_libraries "$root" /bin/bash /bin/mount /bin/cat /bin/dd /bin/ls /bin/grep /bin/touch /bin/mknod
sed -i 's/^state >\/run\/state$/echo "Vakt 5: UNIT WAKING, please wait" >\/dev\/ttyS0\necho "UNIT STATE PENDING" >\/dev\/ttyS0\n&/' "$rc"
sed -i -e 's/ -echoctl min 1/ -echoctl -echo min 1/' -e 's/ \/bin\/sh -i)$/ \/bin\/bash --norc -i)/' "$desk"
grep -q WAKING "$rc" && grep -q -- '-echo min' "$desk" && grep -q norc "$desk"
CHANGES
LOCAL_CHANGES=/tmp/changes bash /solution/solve.sh
