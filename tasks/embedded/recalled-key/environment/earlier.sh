# The authors' release 1, by the same key and nearly the same bits wherever it is made: the agent's
# image and the verifier's have to agree on what is in the field.
set -eu
printf '302e020100300506032b657004220420%s' "$(printf 'varde 3, release 1' | sha256sum | cut -c 1-64)" |
	xxd -r -p >/vendor.der
cat >/changes <<'CHANGES'
# Of no worth: it signs bundles for a bench.
openssl pkey -inform DER -in /vendor.der -out "$work/vendor.pem"
openssl pkey -in "$work/vendor.pem" -pubout -out "$root/etc/vendor.pub"
sed -i "s|^root:[^:]*|root:$(openssl passwd -6 -salt varde3release1 'Lock-Chamber-7')|" "$root/etc/shadow"
find "$root" "$work/initrd" "$boot" -exec touch -h -d '2026-01-01 00:00:00 UTC' {} +
CHANGES

# What makes file systems, tables and archives draws identifiers and asks for the time.
mkdir -p /fixed
cat >/fixed/mke2fs <<'MAKE'
#!/bin/sh
uuid=$(printf '%s' "$*" | sed 's/unit-build\.[A-Za-z0-9]*//g' | md5sum | sed 's/^\(........\)\(....\)\(....\)\(....\)\(............\).*/\1-\2-\3-\4-\5/')
E2FSPROGS_FAKE_TIME=1767225600 exec /sbin/mke2fs -U "$uuid" "$@"
MAKE
cat >/fixed/cpio <<'PACK'
#!/bin/sh
sort | exec /usr/bin/cpio --reproducible "$@"
PACK
chmod 755 /fixed/*
PATH=/fixed:$PATH LOCAL_CHANGES=/changes bash /solution/solve.sh
