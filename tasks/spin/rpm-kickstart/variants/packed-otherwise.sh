#!/bin/bash
# An index packed with xz, packages packed with gzip.
set -euo pipefail
cat >/tmp/changes <<'CHANGES'
createrepo_c() { command createrepo_c --general-compress-type xz "$@"; }
rpmbuild() {
	local words=("$@") number
	for number in "${!words[@]}"; do
		words[number]=${words[number]/w3.zstdio/w6.gzdio}
	done
	command rpmbuild "${words[@]}"
}
CHANGES
LOCAL_CHANGES=/tmp/changes bash /solution/solve.sh
