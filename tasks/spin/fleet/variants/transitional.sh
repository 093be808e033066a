#!/bin/bash
# Empty packages lead from the old names to the new one and stay; reprepro makes the indexes; the new key has a second name and a subkey for encryption.
set -eu
own=$(mktemp -d)
cp -r /solution/. "$own"
cat >/tmp/changes <<'CHANGES'
for name in holm-tally holm-registry; do
	mkdir -p "$packages/$name-3.0/DEBIAN"
	cat >"$packages/$name-3.0/DEBIAN/control" <<CONTROL
Package: $name
Version: 3.0
Architecture: all
Maintainer: Holm Havbruk AS <linux@holm.example>
Depends: holm-ledger (>= 3.0)
Description: empty; the registers are holm-ledger's now
CONTROL
	cat >"$packages/$name-3.0/DEBIAN/postinst" <<POSTINST
#!/bin/sh
# By now holm-ledger has taken over whatever there was.
set -e
rm -rf /var/lib/$name /etc/holm/${name#holm-}.conf /etc/holm/${name#holm-}.conf.*
rm -f /etc/systemd/system/multi-user.target.wants/$name.service
[ ! -d /run/systemd/system ] || systemctl daemon-reload
POSTINST
	chmod 755 "$packages/$name-3.0/DEBIAN/postinst"
done
sed -i -e 's/^Conflicts: .*/Breaks: holm-tally (<< 3.0), holm-registry (<< 3.0)/' \
	-e 's/^Replaces: .*/Replaces: holm-tally (<< 3.0), holm-registry (<< 3.0)/' "$ledger/DEBIAN/control"
sed -i 's/^install -d/[ ! -d \/run\/systemd\/system ] || systemctl stop holm-tally.service holm-registry.service 2>\/dev\/null || :\n&/' "$ledger/DEBIAN/postinst"
for v in 1.1 2.1 3.0; do
	sed -i 's/gone="holm-relay holm-tally holm-registry"/gone=holm-relay/' "$(upgrade $v)"
done
grep -q gone=holm-relay "$(upgrade 2.1)"
CHANGES
python3 - "$own/solve.sh" <<'EDIT'
import sys

text = open(sys.argv[1]).read()


def change(old, new):
    global text
    assert text.count(old) == 1, old
    text = text.replace(old, new)


change("'Key-Usage: sign,cert' \\\n", "'Key-Usage: sign,cert' 'Subkey-Type: ecdh' \\\n\t'Subkey-Curve: cv25519' 'Subkey-Usage: encrypt' \\\n")
change("gpg --armor --export-secret-keys dorg", "gpg --quick-add-uid dorg@holm.example 'The keeper of dorg <keeper@holm.example>'\ngpg --armor --export-secret-keys dorg")
change("publish bookworm 12 Debian base base\n", """publish bookworm 12 Debian base base
for suite in alke bris dorg; do
	base=$(mktemp -d)
	mkdir "$base/conf"
	keys=
	for key in $(case $suite in bris) echo bris dorg ;; *) echo $suite ;; esac); do
		keys="$keys $(gpg --with-colons --list-keys $key@holm.example | sed -n 's/^fpr:*\\([0-9A-F]*\\):$/\\1/p' | head -n 1)"
	done
	cat >"$base/conf/distributions" <<CONF
Origin: Holm
Label: Holm
Suite: $suite
Codename: $suite
Architectures: amd64
Components: main
DebIndices: Packages Release . .gz .xz
SignWith:$keys
CONF
	rm -r "$archive/holm/dists/$suite"
	for deb in "$archive/holm/pool/$suite"/*.deb; do
		GNUPGHOME=$work/gpg reprepro --silent --basedir "$base" --outdir "$archive/holm" -S misc -P optional includedeb $suite "$deb"
	done
	rm -r "$archive/holm/pool/$suite"
done
""")
open(sys.argv[1], "w").write(text)
EDIT
LOCAL_CHANGES=/tmp/changes bash $own/solve.sh
