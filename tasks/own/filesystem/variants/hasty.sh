#!/bin/bash
# It commits ten times a second, whether somebody waits for it or not, and keeps no access times.
set -eu
work=$(mktemp -d)
cp -r /solution/. "$work/"
cd "$work"
sed -i 's/5 \* HZ/HZ \/ 10/' src/commit.c src/super.c
sed -i 's/sb->s_time_gran = 1;/&\n\tsb->s_flags |= SB_NOATIME;/' src/super.c
grep -q 'HZ / 10' src/commit.c
grep -q SB_NOATIME src/super.c
bash solve.sh
