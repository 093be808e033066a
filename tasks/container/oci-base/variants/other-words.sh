#!/bin/bash
# Other words: German messages, indented JSON without the optional media types, gzip at its default level.
set -euo pipefail
cp -r /solution /tmp/honest
cd /tmp/honest/kit
python3 - <<'PY'
import re
text = open("build").read()
text = text.replace("gzip -9 <", "gzip <").replace('echo "build: $*" >&2', 'printf "Abgelehnt: %s\\n" "$*" >&2')
text = text.replace("fail \"the list is wrong\"", "fail \"die Liste ist keine\"").replace("is damaged", "ist nicht heil")
open("build", "w").write(text)
for name in ("list.awk", "manifest.awk", "compose.awk"):
    said = open(name).read()
    said = re.sub(r'print "build: .*? > "/dev/stderr"', 'print "so nicht" > "/dev/stderr"', said)
    open(name, "w").write(said)
text = open("json.awk").read()
text = text.replace('\\"mediaType\\":%s,\\"config\\":', '\\n  \\"config\\" : ').replace(', quote(oci "manifest.v1+json"), quote(oci "config.v1+json")', ', quote(oci "config.v1+json")')
text = text.replace('\\"mediaType\\":%s,\\"manifests\\":', '\\n\\t\\"manifests\\" : ').replace(', quote(oci "index.v1+json"), quote(oci "manifest.v1+json")', ', quote(oci "manifest.v1+json")')
text = text.replace('printf "{\\"created\\":%s', 'printf "{\\n  \\"created\\" : %s')
open("json.awk", "w").write(text)
PY
grep -q Abgelehnt build && grep -q 'so nicht' list.awk && ! grep -q index.v1 json.awk
bash /tmp/honest/solve.sh
