#!/bin/bash
# Norwegian messages everywhere, the login too, LC_ALL, a list by `sha256sum -b`, xz, another unit with a script, another user number.
set -euo pipefail
cp -r /solution /tmp/translated
python3 - <<'PY'
path = "/tmp/translated/solve.sh"
text = open(path).read()
def put(old, new):
    global text
    assert old in text, old
    text = text.replace(old, new)
put("cache=/var/tmp/expo-cache", "cache=/var/tmp/expo-cache-translated")
put("for part in man info lintian locale; do", "for part in man info lintian; do")
put(' "$root"/usr/share/locale "$root"/usr/share/i18n', ' "$root"/usr/share/i18n')
put("-comp zstd -Xcompression-level 12 -b 256K", "-comp xz -b 1M")
put('sha256sum "$name"', 'sha256sum -b "$name"')
put("printf '0%.0s' {1..64})  /", "printf '0%.0s' {1..64}) */")
put("echo 'LANG=nb_NO.UTF-8' >", "printf 'LANG=nb_NO.UTF-8\\nLC_ALL=nb_NO.UTF-8\\n' >")
put("useradd --system", "useradd -u 4242 -U")
put("wall.service expo-keys.service", "kiosk.service expo-keys.service")
put("$units/wall.service", "$units/kiosk.service")
open(path, "w").write(text)
script = "/tmp/translated/rootfs/etc/initramfs-tools/scripts/expo"
text = open(script).read()
put(r"\{64\}\)  \./live", r"\{64\}\) \*\./live")
open(script, "w").write(text)
PY
cat >/tmp/translated.changes <<'CHANGES'
printf '#!/bin/sh\numask 077\nexec /usr/bin/wall\n' >"$root/usr/local/bin/kiosk"
chmod 755 "$root/usr/local/bin/kiosk"
sed -i -e 's|^ExecStart=.*|ExecStart=/usr/local/bin/kiosk|' -e 's/LANG=nb/LC_ALL=nb/' "$units/kiosk.service"
sed -i -e "s/^NAME=.*/NAME='Expo Wall'/" -e 's/^ID=.*/ID="expo-wall"/' "$root/usr/lib/os-release"
rm -rf "$root"/usr/share/locale/[a-mo-z]* "$root"/usr/share/locale/n[a-ac-z]*
CHANGES
mv /tmp/translated/rootfs/etc/systemd/system/{wall,kiosk}.service
LOCAL_CHANGES=/tmp/translated.changes bash /tmp/translated/solve.sh
