#!/bin/bash
# Partitions by the names of their devices, a loader that waits a moment, another order of files on the ESP.
set -euo pipefail
cat >/tmp/changes <<'CHANGES'
python3 - "$sources/almar-compose" <<'PY'
import sys
text = open(sys.argv[1]).read()
def put(old, new):
    global text
    assert old in text, old
    text = text.replace(old, new)
put("    for part in ks.parts:\n        if part[\"mount\"] == \"swap\":\n            lines.append(f\"UUID={part['uuid']} none swap",
    "    for number, part in enumerate(ks.parts, 1):\n        if part[\"mount\"] == \"swap\":\n            lines.append(f\"/dev/vda{number} none swap")
put("lines.append(f\"UUID={source} {part['mount']}", "lines.append(f\"/dev/vda{number} {part['mount']}")
put("options root=UUID={uuid_of_root}", "options root=/dev/vda{[p['mount'] for p in ks.parts].index('/') + 1}")
put("boot.get('timeout', '0')", "boot.get('timeout', '2')")
put("linux /vmlinuz\\ninitrd /initrd", "linux /almar/linux\\ninitrd /almar/initrd")
put('    shutil.copy(kernel, f"{stage}/vmlinuz")', '    os.makedirs(f"{stage}/almar")\n    shutil.copy(kernel, f"{stage}/almar/linux")')
put('f"{stage}/initrd")', 'f"{stage}/almar/initrd")')
open(sys.argv[1], "w").write(text)
PY
export TOOL=$sources
CHANGES
LOCAL_CHANGES=/tmp/changes bash /solution/solve.sh
