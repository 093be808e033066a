#!/bin/bash
# Archives by dpkg-scanpackages and apt-ftparchive (./pool, by-hash, xz, no Label); keys with subkeys and UTF-8 names, armoured in /etc/apt/keyrings.
set -euo pipefail
cp -r /solution /tmp/usual
python3 - <<'PY'
path = "/tmp/usual/solve.sh"
text = open(path).read()
def put(old, new):
    global text
    assert old in text, old
    text = text.replace(old, new)
start = text.index("\tprintf '%s\\n' %no-protection")
end = text.index('\tgpg --armor --export-secret-keys')
text = text[:start] + """	who="Holm, arkivnøkkel $key <$key@holm.example>"
	unlocked=(--charset utf-8 --pinentry-mode loopback --passphrase '')
	gpg "${unlocked[@]}" --quick-generate-key "$who" ed25519 cert,sign never 2>/dev/null
	print=$(gpg --with-colons --list-keys "$key@holm.example" | sed -n 's/^fpr:*\\([0-9A-F]*\\):/\\1/p' | head -n 1)
	gpg "${unlocked[@]}" --quick-add-key "$print" cv25519 encr never
""" + text[end:]
start = text.index("\tlocal folder=$packages/holm-archive-keyring-$1")
end = text.index("ring 1.0 alke\n")
text = text[:start] + """	local folder=$packages/holm-archive-keyring-$1/etc/apt/keyrings
	shift
	mkdir -p "$folder"
	gpg --armor --export "${@/%/@holm.example}" >"$folder/holm-archive.asc"
	gpg --armor --export base@holm.example >"$folder/holm-base.asc"
}
""" + text[end:]
start = text.index("publish() {")
end = text.index("publish alke 1.0")
text = text[:start] + """publish() (
	cd "$archive/$4"
	dists=dists/$1 index=main/binary-amd64
	mkdir -p "$dists/$index"
	dpkg-scanpackages --multiversion "./pool/$1" >"$dists/$index/Packages" 2>/dev/null
	xz -k "$dists/$index/Packages"
	for file in Packages Packages.xz; do
		install -D -m 644 "$dists/$index/$file" \\
			"$dists/$index/by-hash/SHA256/$(sha256sum "$dists/$index/$file" | cut -d ' ' -f 1)"
	done
	set -- "$@" "Origin=$3" "Suite=$1" "Codename=$1" Architectures=amd64 Components=main \\
		Acquire-By-Hash=yes "Description=Holm Havbruk: $1"
	said=()
	for field in "${@:6}"; do said+=(-o "APT::FTPArchive::Release::$field"); done
	apt-ftparchive "${said[@]}" release "$dists" >"$work/Release"
	mv "$work/Release" "$dists/Release"
	gpg -u "$5@holm.example" --clearsign -o "$dists/InRelease" "$dists/Release"
	gpg -u "$5@holm.example" --armor --detach-sign -o "$dists/Release.gpg" "$dists/Release"
)
""" + text[end:]
open(path, "w").write(text)
PY
cat >/tmp/usual.changes <<'CHANGES'
sed -i 's|/usr/share/keyrings/\(.*\)\.gpg|/etc/apt/keyrings/\1.asc|' "$packages"/holm-base-*/etc/apt/sources.list.d/holm.sources
CHANGES
LOCAL_CHANGES=/tmp/usual.changes bash /tmp/usual/solve.sh
