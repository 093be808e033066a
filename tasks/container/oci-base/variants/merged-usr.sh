#!/bin/bash
# A merged /usr, as Debian, Fedora and Arch have it: /bin and /lib are symbolic links, and so is /etc/os-release.
set -euo pipefail
cp -r /solution /tmp/honest
python3 - <<'PY'
path = "/tmp/honest/parcels.py"
text = open(path).read()
def put(old, new):
    global text
    assert old in text, old
    text = text.replace(old, new)
put('folders("bin", "dev", "etc", "home", "lib", "proc", "root", "run", "sys", "usr",\n                      "usr/bin", "usr/share", "var")',
    'folders("dev", "etc", "home", "proc", "root", "run", "sys", "usr",\n                      "usr/bin", "usr/lib", "usr/share", "var")\n'
    '    entries["bin"] = ("symlink", "usr/bin")\n    entries["lib"] = ("symlink", "usr/lib")')
put('    entries["etc/os-release"] = text(', '    entries["etc/os-release"] = ("symlink", "../usr/lib/os-release")\n'
    '    entries["usr/lib/os-release"] = text(')
put('entries = folders("lib")\n    entries["lib/ld', 'entries = folders("usr", "usr/lib")\n    entries["usr/lib/ld')
put('entries = folders("bin", "usr", "usr/bin")\n    entries["bin/busybox"]', 'entries = folders("usr", "usr/bin")\n    entries["usr/bin/busybox"]')
put('entries[f"bin/{command}"]', 'entries[f"usr/bin/{command}"]')
open(path, "w").write(text)
PY
bash /tmp/honest/solve.sh
