#!/bin/bash
# Modes and fields where they are left open: read-only programs, locked fields of other forms, more groups, one of them with harbor in it, a kit packed by GNU tar under umask 077.
set -euo pipefail
umask 077
cp -r /solution /tmp/honest
python3 - <<'PY'
path = "/tmp/honest/parcels.py"
text = open(path).read()
def put(old, new):
    global text
    assert old in text, old
    text = text.replace(old, new)
put('"root:x:0:0:root:/root:/bin/sh\\nharbor:x:10001:10001:harbor:/home/harbor:/bin/sh\\n"',
    '"harbor:*:10001:10001::/home/harbor:\\nroot:x:0:0:Super User:/:/bin/false\\n"')
put('"root:x:0:\\nharbor:x:10001:\\n"', '"root:x:0:root\\ntty:*:5:\\nharbor:!:10001:harbor\\nusers:x:100:harbor\\n"')
put('text("root:*:::::::\\nharbor:*:::::::\\n", 0o600)', 'text("root:!!:19000:0:99999:7:::\\nharbor:*LK*:19000::::::\\n", 0o400)')
put('entries["root"] = ("dir", 0o700)', 'entries["root"] = ("dir", 0o750)\n    entries["proc"] = entries["sys"] = ("dir", 0o555)\n'
    '    entries |= folders("mnt", "opt", "srv", "var/log", "var/tmp")\n    entries["var/run"] = ("symlink", "/run")')
put('("dir", 0o700, 10001', '("dir", 0o500 | 0o200, 10001')
put('("file", 0o755, library)', '("file", 0o555, library)')
put('("file", 0o755, (work / "busybox")', '("file", 0o511, (work / "busybox")')
put("'ID=harbour\\n", "'ID=\"harbour\"\\n")
open(path, "w").write(text)
PY
bash /tmp/honest/solve.sh
mkdir /tmp/again && cd /tmp/again
tar -xf /app/out/kit.tar
mkdir -p empty/folder
mv *.awk empty
sed -i 's|\$here/\([a-z0-9]*\.awk\)|$here/empty/\1|g' build
rm /app/out/kit.tar
tar --format=pax --sort=inode --mtime='2020-02-02 02:02:02.5' -cf /app/out/kit.tar packages build empty
