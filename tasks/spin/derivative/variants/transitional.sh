#!/bin/bash
# An empty holm-tally 2.0 leads from one name to the other and stays; reprepro makes the archives; the keys have a second name and a subkey for encryption.
set -eu
work=$(mktemp -d)
cp -r /solution/. "$work"
cd "$work"
python3 - <<'EDIT'
text = open("solve.sh").read()


def change(old, new):
    global text
    assert text.count(old) == 1, old
    text = text.replace(old, new)


change("'Key-Usage: sign,cert' \\\n", "'Key-Usage: sign,cert' 'Subkey-Type: ecdh' \\\n\t\t'Subkey-Curve: cv25519' 'Subkey-Usage: encrypt' \\\n")
change('\tgpg --armor --export-secret-keys "$key@holm.example"', '\tgpg --quick-add-uid "$key@holm.example" "The keeper of $key <keeper-$key@holm.example>"\n\tgpg --armor --export-secret-keys "$key@holm.example"')
change('python3 "$here/publish.py"', 'bash "$here/publish.sh"')
change("publish bookworm 12 Debian base base\n", 'publish bookworm 12 Debian base base\nrm -r "$archive"/holm/pool/{alke,bris} "$archive"/base/pool/bookworm\n')
open("solve.sh", "w").write(text)
EDIT
cat >publish.sh <<'PUBLISH'
#!/bin/bash
# publish.sh SUITE VERSION ORIGIN FOLDER HOME KEY
set -euo pipefail
base=$(mktemp -d)
mkdir "$base/conf"
cat >"$base/conf/distributions" <<CONF
Origin: $3
Label: $3 for stations
Suite: $1
Codename: $1
Version: $2
Architectures: amd64
Components: main
Description: packages of $1
DebIndices: Packages Release . .gz .xz
SignWith: $(gpg --homedir "$5" --batch --with-colons --list-keys "$6" | sed -n 's/^fpr:*\([0-9A-F]*\):$/\1/p' | head -n 1)
CONF
for deb in "$4/pool/$1"/*.deb; do
	GNUPGHOME=$5 reprepro --silent --basedir "$base" --outdir "$4" -S misc -P optional includedeb "$1" "$deb"
done
PUBLISH
cd packages
mkdir -p holm-tally-2.0/DEBIAN
cat >holm-tally-2.0/DEBIAN/control <<'CONTROL'
Package: holm-tally
Version: 2.0
Architecture: all
Maintainer: Holm Havbruk AS <linux@holm.example>
Depends: holm-registry (>= 2.0)
Description: empty; the registers are holm-registry's now
CONTROL
cat >holm-tally-2.0/DEBIAN/postinst <<'POSTINST'
#!/bin/sh
# By now holm-registry has taken over whatever there was.
set -e
rm -rf /var/lib/holm-tally /etc/holm/tally.conf /etc/holm/tally.conf.*
rm -f /etc/systemd/system/multi-user.target.wants/holm-tally.service
[ ! -d /run/systemd/system ] || systemctl daemon-reload
POSTINST
chmod 755 holm-tally-2.0/DEBIAN/postinst
sed -i 's/^Conflicts: holm-tally$/Breaks: holm-tally (<< 2.0)/; s/^Replaces: holm-tally$/Replaces: holm-tally (<< 2.0)/' holm-registry-2.0/DEBIAN/control
sed -i 's/^old=.*/[ ! -d \/run\/systemd\/system ] || systemctl stop holm-tally.service 2>\/dev\/null || :\n&/' holm-registry-2.0/DEBIAN/postinst
sed -i 's/now purge holm-relay holm-tally/now purge holm-relay/' holm-upgrade
grep -q '^Breaks' holm-registry-2.0/DEBIAN/control
cd "$work"
bash "$work/solve.sh"
