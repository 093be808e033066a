#!/bin/bash
# The volume is Serpent's in sectors of 4096 bytes, and Argon2id derives the key of its slot.
set -eu
cat >/tmp/changes <<'CHANGES'
for module in serpent_generic serpent-sse2-x86_64; do
	modprobe -d $packages/kernel -S "$release" --show-depends "$module"
done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | while read -r module; do
	name=$(basename "$module")
	grep -qx "$name" "$initrd/modules" && continue
	cp "$module" "$initrd/lib/modules/"
	echo "$name" >>"$initrd/modules"
done
sed -i 's/--pbkdf pbkdf2 --pbkdf-force-iterations 1000/--cipher serpent-xts-plain64 --key-size 512 --sector-size 4096 --hash sha512 --pbkdf argon2id --pbkdf-memory 8192 --pbkdf-parallel 1 --pbkdf-force-iterations 4/' "$rc"
grep -q serpent-xts "$rc"
CHANGES
LOCAL_CHANGES=/tmp/changes bash /solution/solve.sh
