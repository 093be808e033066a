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

ladder="repository built boots owned beacon supply history removed trust composed refused
laid-out chosen accounts settings scripts whole"
from-tasks-lib ladder.sh

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

# ---- what is left out for the ladder: of the milestone after $STOP_AFTER, just too little ----

files=$work/files
specs=$work/specs
sources=$work/sources
has built || sed -i 's/^Release: 2/Release: 1/' "$specs/beacon.spec"
cp $order/machine.ks "$work/machine.ks"
has boots || sed -i 's/^rootpw .*/rootpw --lock/' "$work/machine.ks"
has owned || printf '%s\n' %post 'echo stray >/usr/lib/stray' %end >>"$work/machine.ks"
has beacon || sed -i '/^Restart=/d' "$sources/beacon.service"
has supply || sed -i 's|^baseurl=.*|baseurl=http://repository.almar.example/1|' "$files/etc/yum.repos.d/almar.repo"
has history || echo 'dnf() { case "$*" in *history*undo* | *rollback*) return 1 ;; *) command dnf "$@" ;; esac; }' \
	>>"$files/etc/profile"
has removed || sed -i '/^%preun/,/^fi/d' "$specs/beacon.spec"
has trust || sed -i 's/^repo_gpgcheck=1/repo_gpgcheck=0/' "$files/etc/yum.repos.d/almar.repo"
has composed || sed -i '2iimport sys; sys.exit(1)' "$sources/almar-compose"
has refused || sed -i 's/{where\[0\]}:{where\[1\]}: //' "$sources/kickstart.py"
has laid-out || sed -i 's/"-L", part\["label"\]/"-L", "none"/' "$sources/almar-compose"
has chosen || sed -i 's/conf.install_weak_deps = .*/conf.install_weak_deps = True/' "$sources/target.py"
has accounts || sed -i 's/("gecos", "-c")//' "$sources/target.py"
has settings || sed -i 's/ {append}\\n/\\n/' "$sources/almar-compose"
has scripts || sed -i 's/post.options.get("interpreter", "\/bin\/sh")/"\/bin\/sh"/' "$sources/target.py"
has whole || sed -i 's/write("\/etc\/machine-id", "")/&; write("\/usr\/lib\/composed", "")/' "$sources/target.py"

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

# ---- the machine, by the tool as it is before anything of it is left out ----

tool=$work/tool
mkdir "$tool"
cp "${TOOL:-$here/sources}"/{almar-compose,kickstart.py,target.py} "$tool/"
mkdir -p /etc/pki/rpm-gpg
cp "$work/RPM-GPG-KEY-almar" /etc/pki/rpm-gpg/
sed -i "s|\"/usr/lib/almar-compose\"|\"$tool\"|" "$tool/almar-compose"
python3 "$tool/almar-compose" "$work/machine.ks" $out/machine.img
ls -ls $out
