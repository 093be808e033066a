#!/bin/bash
# Commands are hard links in /usr/bin, zones symbolic links, certificates lie under their hashes alone, the bundle has comments.
set -euo pipefail
cp -r /solution /tmp/honest
python3 - <<'PY'
path = "/tmp/honest/parcels.py"
text = open(path).read()
def put(old, new):
    global text
    assert old in text, old
    text = text.replace(old, new)
put('entries["bin/busybox"] = ("file", 0o755, (work / "busybox").read_bytes())', 'pass')
put('''            entries[f"bin/{command}"] = ("symlink", "busybox")
''', '''            entries[f"usr/bin/{command}"] = ("hardlink", "usr/bin/[")
        entries["usr/bin/["] = ("file", 0o755, (work / "busybox").read_bytes())
        entries["bin/sh"] = ("symlink", "/usr/bin/sh")
''')
put('entries[path] = ("hardlink", seen[data])', 'entries[path] = ("symlink", "/" + seen[data])')
put('''            entries[f"etc/ssl/certs/{short}.{number}"] = ("symlink", f"{name}.pem")
            entries[f"etc/ssl/certs/{name}.pem"] = ("file", 0o644, data)
''', '''            entries[f"etc/ssl/certs/{short}.{number}"] = ("file", 0o644, data)
''')
put('bundle = b"".join(data for _, data in certificates)', 'bundle = b"".join(b"# " + name.encode()[:9] + b"\\n" + data for name, data in reversed(certificates))')
put('entries["etc/localtime"] = ("symlink", "/usr/share/zoneinfo/UTC")', 'entries["etc/localtime"] = ("symlink", "../usr/share/zoneinfo/Etc/Zulu")')
open(path, "w").write(text)
PY
bash /tmp/honest/solve.sh
