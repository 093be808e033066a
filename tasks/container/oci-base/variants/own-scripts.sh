#!/bin/bash
# Some commands are scripts of our own in /usr/bin, the loader is a link to libc.so, the TZ that almanac sets begins with a colon.
set -euo pipefail
cp -r /solution /tmp/honest
python3 - <<'PY'
path = "/tmp/honest/parcels.py"
text = open(path).read()
def put(old, new):
    global text
    assert old in text, old
    text = text.replace(old, new)
put('    entries["lib/ld-musl-x86_64.so.1"] = ("file", 0o755, library)\n',
    '    entries["lib/libc.so"] = ("file", 0o755, library)\n    entries["lib/ld-musl-x86_64.so.1"] = ("symlink", "libc.so")\n')
put('''    parcel("busybox", "1.35.0"''', '''    if "boots" in stages:
        entries["usr/bin/whoami"] = text("#!/bin/sh\\nexec id -un\\n", 0o755)
        entries["usr/bin/yes"] = text('#!/bin/sh\\nwhile echo "${*:-y}"; do :; done 2> /dev/null\\n', 0o755)
        entries["usr/bin/nproc"] = text("#!/bin/sh\\ngrep -c ^processor /proc/cpuinfo\\n", 0o755)
        entries["usr/bin/zcat"] = text('#!/bin/sh\\nexec gzip -dc "$@"\\n', 0o755)
        for command in ("whoami", "yes", "nproc", "zcat"):
            del entries[f"bin/{command}"]
    parcel("busybox", "1.35.0"''')
open(path, "w").write(text)
PY
sed -i 's/setenv("TZ", path, 1)/setenv("TZ", strdup(strcat(strcpy(line, ":"), path)), 1)/' /tmp/honest/solve.sh
bash /tmp/honest/solve.sh
