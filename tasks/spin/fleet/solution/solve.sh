#!/bin/bash
# Builds /app/out: the archives for the fleet and the new key. STOP_AFTER=<milestone> leaves out, on
# purpose, what the next milestone asks for. LOCAL_CHANGES names a file that is sourced before
# packages are made.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
order=/app/order
field=/field
out=/app/out
work=$(mktemp -d /var/tmp/fleet-build.XXXXXX)
trap 'gpgconf --homedir "$work/gpg" --kill all 2>/dev/null || true; rm -rf "$work"' EXIT
export LC_ALL=C

ladder="archive content updates recalled refuses three carried stays service updates-2 recalled-2
three-2 power old-way half-way line"
from-tasks-lib ladder.sh

# ---- keys: those of then, and the new one ----

mkdir -m 700 "$work/gpg" "$work/keys"
gpg() { command gpg --homedir "$work/gpg" --batch --quiet --no-tty "$@"; }
address() { echo "$1@holm.example"; }
for key in alke bris base; do
	gpg --import "$field/$key.key"
done
printf '%s\n' %no-protection 'Key-Type: eddsa' 'Key-Curve: ed25519' 'Key-Usage: sign,cert' \
	"Name-Real: Holm archive dorg" "Name-Email: dorg@holm.example" 'Expire-Date: 0' %commit |
	gpg --gen-key 2>/dev/null
gpg --armor --export-secret-keys dorg@holm.example >"$work/keys/dorg.key"
for key in alke dorg base bris; do
	gpg --export "$key@holm.example" >"$work/keys/$key.pub"
done

# ---- what is changed in the suites of then ----

packages=$work/packages
mkdir "$packages"
cp -r "$here"/packages/*/ "$packages/"
rm -r "$packages/holm-archive-keyring"
again() { # again SUITE PACKAGE FOLDER: a package of then, unpacked
	dpkg-deb -R "$field"/archive/holm/$(awk -v RS= -v p="$2" '$2 == p' \
		"$field/archive/holm/dists/$1/main/binary-amd64/Packages" | sed -n 's/^Filename: //p') "$packages/$3"
}
again alke holm-base holm-base-1.1
again bris holm-base holm-base-2.1
cp -r "$packages/holm-base-2.1" "$work/three"
cp -r "$packages/holm-base-3.0/DEBIAN/control" "$work/three/DEBIAN/control"
rm -r "$packages/holm-base-3.0"
mv "$work/three" "$packages/holm-base-3.0"
for v in 1.1 2.1; do
	sed -i "s/^Version: .*/Version: $v/" "$packages/holm-base-$v/DEBIAN/control"
done
for v in 1.1 2.1 3.0; do
	install -m 755 "$here/packages/holm-upgrade" "$packages/holm-base-$v/usr/sbin/holm-upgrade"
done

# ---- what is new in 3.0 ----

put() { # put PACKAGE MODE PATH: a file of the order into a package
	install -D -m "$2" "$order/$4" "$packages/$1$3"
}
base=$packages/holm-base-3.0
sed -i 's/2\.0/3.0/g; s/Bris/Dorg/g; s/bris/dorg/g' "$base/usr/lib/os-release"
sed -i 's/^Suites: bris$/Suites: dorg/' "$base/etc/apt/sources.list.d/holm.sources"
sed -i 's/^After=.*/& holm-ledger.service/' "$base/usr/lib/systemd/system/holm-upgrade.service"
put holm-base-3.0 644 /etc/holm/site.conf site-3.0.conf
put holm-report 755 /usr/bin/holm-report tools-3.0/holm-report
put holm-report 644 /etc/holm/report.conf tools-3.0/report.conf
put holm-clock 755 /usr/bin/holm-clock tools-3.0/holm-clock
put holm-ledger 755 /usr/sbin/holm-ledger ledger/holm-ledger
put holm-ledger 644 /usr/share/holm-ledger/ledger.conf ledger/ledger.conf
put hello 755 /usr/bin/hello hello
ring() { # ring VERSION KEY...: a keyring package trusts these
	local folder=$packages/holm-archive-keyring-$1 version=$1 key
	shift
	rm -rf "$folder"
	cp -r "$here/packages/holm-archive-keyring" "$folder"
	sed -i "s/@VERSION@/$version/" "$folder/DEBIAN/control"
	mkdir -p "$folder/usr/share/keyrings"
	for key; do cat "$work/keys/$key.pub"; done >"$folder/usr/share/keyrings/holm-archive.gpg"
	cat "$work/keys/base.pub" >"$folder/usr/share/keyrings/holm-base.gpg"
}
ring 1.2 alke dorg
ring 2.1 dorg
ring 3.0 dorg
signers_of_bris="bris dorg"

# ---- what is left out for the ladder: of the milestone after $STOP_AFTER, just too little ----

upgrade() { echo "$packages/holm-base-$1/usr/sbin/holm-upgrade"; }
unit() { echo "$packages/holm-base-$1/usr/lib/systemd/system/holm-upgrade.service"; }
script() { # script PACKAGE NAME TEXT: a maintainer script that begins so
	local path=$packages/$1/DEBIAN/$2
	[ -e "$path" ] || printf '#!/bin/sh\n' >"$path"
	sed -i "1a $3" "$path"
	chmod 755 "$path"
}
ledger=$packages/holm-ledger
has content || rm -r "$packages/hello"
has updates || script holm-base-1.1 postinst 'exit 1'
has recalled || ring 1.2 alke dorg bris
has refuses || sed -i '/^give_up() {/,/^}/s/exit 1/exit 0/' "$(upgrade 1.1)"
has three || sed -i 's/^go_forward() {/&\n\treturn 1/' "$(upgrade 1.1)"
has carried || sed -i 's/^tally=[^ ]*/tally=\/nothing/' "$ledger/DEBIAN/postinst"
has stays || ring 3.0 alke dorg
has service || sed -i '/^StartLimit/d' "$ledger/usr/lib/systemd/system/holm-ledger.service"
has updates-2 || script holm-base-2.1 postinst 'exit 1'
has recalled-2 || ring 2.1 bris dorg
has three-2 || sed -i 's/^go_forward() {/&\n\treturn 1/' "$(upgrade 2.1)"
has power || sed -i 's/^ConditionPathExists=.*/&\/never/' "$(unit 2.1)" "$(unit 3.0)"
has old-way || script holm-base-2.1 preinst '[ ! -d /var/lib/holm-tally ] || exit 1'
has half-way || sed -i 's/^\tfor old in .*registry.conf /\tfor old in /' "$ledger/DEBIAN/postinst"
has line || sed -i 's/^ConditionPathExists=.*/&\/committed/' "$(unit 1.1)"

if [ -n "${LOCAL_CHANGES:-}" ]; then
	. "$LOCAL_CHANGES"
fi

mkdir "$work/debs"
for folder in "$packages"/*/; do
	folder=${folder%/}
	(cd "$folder" && find . -path './etc/*' -type f | sort | sed 's/^\.//') >"$work/conffiles"
	rm -f "$folder/DEBIAN/conffiles"
	[ ! -s "$work/conffiles" ] || cp "$work/conffiles" "$folder/DEBIAN/conffiles"
	chmod -R u+rwX,go=u,go-w "$folder"
	dpkg-deb --root-owner-group -Zxz -b "$folder" "$work/debs" >/dev/null
done

# ---- the archives ----

archive=$work/archive
mkdir -p "$archive"/holm/pool/{alke,bris,dorg} "$archive/base/pool/bookworm"
paths() { sed -n 's/^Filename: //p' "$field/archive/$1/dists/$2/main/binary-amd64/Packages"; }
carry() { # carry ARCHIVE SUITE: the packages of then
	paths "$1" "$2" | while read -r path; do
		cp "$field/archive/$1/$path" "$archive/$1/pool/$2/"
	done
}
carry holm alke
carry holm bris
carry base bookworm
for suite in alke bris; do
	rm -f "$archive/holm/pool/$suite"/holm-{base,archive-keyring}_*.deb
done
debs=$work/debs
cp "$debs"/holm-base_1.1_*.deb "$debs"/holm-archive-keyring_1.2_*.deb "$archive/holm/pool/alke/"
cp "$debs"/holm-base_2.1_*.deb "$debs"/holm-archive-keyring_2.1_*.deb "$archive/holm/pool/bris/"
cp "$debs"/*_3.0_*.deb "$archive/holm/pool/dorg/"
! has content || cp "$debs"/hello_2.9-1holm3_*.deb "$archive/holm/pool/dorg/"
publish() { # publish SUITE VERSION ORIGIN ARCHIVE KEY...
	local said=("$1" "$2" "$3" "$archive/$4") key
	shift 4
	python3 "$here/publish.py" "${said[@]}" "$work/gpg" "${@/%/@holm.example}"
}
publish alke 1.0 Holm holm alke
publish bris 2.0 Holm holm $signers_of_bris
publish dorg 3.0 Holm holm dorg
publish bookworm 12 Debian base base

mkdir -p $out
rm -rf $out/archive
mv "$archive" $out/archive
cp "$work/keys/dorg.key" $out/dorg.key
ls -ls $out
