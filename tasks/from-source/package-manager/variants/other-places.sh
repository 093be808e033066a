#!/bin/bash
# /run and /tmp lie on the disk, which keeps blocks for root; other folders and names below /var/lib/lade; other modes, versions and a spare key.
set -eu
work=$(mktemp -d)
cp -r /solution/. "$work"
cd "$work"
sed -i '/ \/run$/d; / \/tmp$/d' rootfs/etc/init.d/rcS
sed -i 's/^mkdir -p \/dev\/pts$/&\nrm -rf \/run\/* \/tmp\/*/' rootfs/etc/init.d/rcS
sed -i 's#STATE "/db#STATE "/installed.d#g; s#STATE "/txn"#STATE "/now"#; s#STATE "/last"#STATE "/past"#; s#lade/db/#lade/installed.d/#g; s#STATE "/INDEX#STATE "/known#g' lade/*.c
sed -i 's#var/lib/lade/db}#var/lib/lade/installed.d}#; s#var/lib/lade/{last,INDEX,#var/lib/lade/{past,known,#' solve.sh
sed -i 's/-m 0 -b 1024 -N 8192/-m 4 -b 4096 -N 8192/' solve.sh
sed -i 's/^pack base 3.0 /pack base 2024.11.3 /; s/^pack libc 1.2.3$/pack libc 7/; s/^pack busybox 1.35.0 .*/pack busybox 0.9 needs=libc/; s/busybox>=1.35/busybox/; s/libc>=1.2.3/libc/' solve.sh
sed -i "s/^chmod 600 .tree.etc.shadow$/&\nchmod 711 \$tree\/home; chmod 775 \$tree\/opt; chmod 750 \$tree\/var\/log/" solve.sh
sed -i "s/^    printf '. See FORMAT.md.*\|^printf '. See FORMAT.md.*/openssl genpkey -algorithm ed25519 -out spare.pem\nprintf '# See FORMAT.md.\\\\nkey=%s\\\\n\\\\nrepository=http:\/\/10.0.2.2:8000\/\\\\nkey=%s\\\\n' \"\$(openssl pkey -in spare.pem -pubout -outform DER | tail -c 32 | xxd -p -c 64 | tr a-f A-F)\" \"\$key\" > \$tree\/etc\/lade.conf/" solve.sh
grep -n 'spare.pem' solve.sh
bash "$work/solve.sh"
