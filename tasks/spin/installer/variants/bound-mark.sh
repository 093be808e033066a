#!/bin/bash
# The mark of unfinished work names the disk that it stands on, and the group's partition has another type.
set -eu
cat >/tmp/changes <<'CHANGES'
sed -i -e 's/^	case "$(mark_of $1)" in$/	serial_of $1\n&/' \
	-e 's/^	"$MARK keep "\*)/	"$MARK $serial keep "*)/' -e 's/^	"$MARK"\*)/	"$MARK $serial"*)/' "$lib/disks"
sed -i -e 's/set_mark "$MARK keep /set_mark "$MARK $SERIAL keep /' -e 's/set_mark "$MARK"$/set_mark "$MARK $SERIAL"/' \
	-e 's/type=E6D6D379-F507-44C2-A23C-238F2A3DF928/type=0FC63DAF-8483-4772-8E79-3D69D8477DE4/' "$lib/install"
grep -n 'MARK' "$lib/disks" "$lib/install"
CHANGES
LOCAL_CHANGES=/tmp/changes bash /solution/solve.sh
