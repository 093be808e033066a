#!/bin/bash
# The first start leaves a mark in clear text in the last sector of data, behind the volume's files.
set -eu
cat >/tmp/changes <<'CHANGES'
python3 - "$rc" <<'PY'
import sys
rc = sys.argv[1]
text = open(rc).read()
text = text.replace("""		open_data
		/sbin/mke2fs -q -F -t ext4 -m 0 /dev/mapper/data
""", """		open_data
		/sbin/mke2fs -q -F -t ext4 -m 0 -b 1024 /dev/mapper/data "$(( ($(cat "/sys/class/block/${data##*/}/size") - 33000) / 2 ))"
		printf 'VAKT-IN-SERVICE.' | dd of="$data" bs=512 seek="$(( $(cat "/sys/class/block/${data##*/}/size") - 1 ))" conv=notrunc,fsync
""")
open(rc, "w").write(text)
PY
grep -q VAKT-IN-SERVICE "$rc"
CHANGES
LOCAL_CHANGES=/tmp/changes bash /solution/solve.sh
