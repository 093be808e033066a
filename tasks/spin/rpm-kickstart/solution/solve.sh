#!/bin/bash
# Builds /app/out: the packages and their repository, the key that signs both, and the machine.
# STOP_AFTER=<milestone> leaves out, on purpose, what the next milestone asks for.
# LOCAL_CHANGES names a file that is sourced before the distribution's own packages are made.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
order=/app/order
out=/app/out
work=$(mktemp -d /var/tmp/almar.XXXXXX)
export GNUPGHOME=$work/gpg HOME=$work/home LC_ALL=C
trap 'gpgconf --kill all 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir -m 700 "$GNUPGHOME" "$HOME"

# ---- Debian's packages, once ----

cache=/var/tmp/almar-cache
if [ ! -e $cache/done ]; then
	rm -rf $cache
	mkdir -p $cache
	python3 "$here/repack.py" /app/debs $cache "$here/initrd.sh"
	touch $cache/done
fi

# ---- the key ----

printf '%s\n' %no-protection 'Key-Type: eddsa' 'Key-Curve: ed25519' 'Key-Usage: sign,cert' \
	'Name-Real: Almar' 'Name-Email: packages@almar.example' 'Expire-Date: 0' %commit |
	gpg --batch --quiet --gen-key 2>/dev/null
gpg --armor --export-secret-keys >"$work/almar.key"

# ---- our own packages ----

cp -r "$here/files" "$here/sources" "$here/specs" "$work/"
cp "$order"/beacon/* "$order"/tidelog/* "$work/sources/"
gpg --armor --export >"$work/RPM-GPG-KEY-almar"
install -D -m 644 "$work/RPM-GPG-KEY-almar" "$work/files/etc/pki/rpm-gpg/RPM-GPG-KEY-almar"
if [ -n "${LOCAL_CHANGES:-}" ]; then
	. "$LOCAL_CHANGES"
fi
tar --sort=name --owner=0 --group=0 -C "$work" -cf "$work/sources/files.tar" files

repository=$work/repository
mkdir -p "$repository/packages" "$repository/source"
for spec in "$work"/specs/*.spec; do
	rpmbuild -ba --define "_topdir $work/rb" --define "_sourcedir $work/sources" \
		--define "_rpmdir $repository/packages" --define "_srcrpmdir $repository/source" \
		--define "_build_name_fmt %{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm" \
		--define "_binary_payload w3.zstdio" --define "_buildshell /bin/bash" "$spec" >"$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }
done
cp $cache/*.rpm "$repository/packages/"
find "$repository" -name '*.rpm' -print0 | xargs -0 rpmsign --define '_gpg_name packages@almar.example' \
	--define '__gpg /usr/bin/gpg' --addsign >"$work/log" 2>&1 || { tail "$work/log"; exit 1; }

# ---- the repository ----

createrepo_c -q --excludes 'source/*' "$repository"
gpg --batch --quiet --armor --detach-sign "$repository/repodata/repomd.xml"

mkdir -p $out
rm -rf $out/repository
cp -r "$repository" $out/repository
cp "$work/almar.key" $out/almar.key

# ---- the machine: the tool as it is in its package ----

tool=$work/tool
mkdir "$tool"
cp "$work"/sources/{almar-compose,kickstart.py,target.py} "$tool/"
mkdir -p /etc/pki/rpm-gpg
cp "$work/RPM-GPG-KEY-almar" /etc/pki/rpm-gpg/
sed -i "s|\"/usr/lib/almar-compose\"|\"$tool\"|" "$tool/almar-compose"
python3 "$tool/almar-compose" $order/machine.ks $out/machine.img
ls -ls $out
