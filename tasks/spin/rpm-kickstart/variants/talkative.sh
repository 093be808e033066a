#!/bin/bash
# A tool that tells of its progress, says more behind the first line, and locks with two marks.
set -euo pipefail
cat >/tmp/changes <<'CHANGES'
python3 - "$sources" <<'PY'
import sys
def change(path, *pairs):
    text = open(path).read()
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    open(path, "w").write(text)
change(f"{sys.argv[1]}/almar-compose",
       ("    ks = kickstart.read(path)\n", '    print(f"reading {path}", flush=True)\n    ks = kickstart.read(path)\n    print("packages", flush=True)\n'),
       ('        print(" ".join(str(error).split()), file=sys.stderr)\n',
        '        print(" ".join(str(error).split()), file=sys.stderr)\n        print("nothing was made; see KICKSTART.md", file=sys.stderr)\n'))
change(f"{sys.argv[1]}/target.py",
       ('user.get("password", "!")', 'user.get("password", "!!")'),
       ('(single["rootpw"]["words"] or ["!"])[0]', '(single["rootpw"]["words"] or ["!*"])[0]'))
PY
export TOOL=$sources
CHANGES
LOCAL_CHANGES=/tmp/changes bash /solution/solve.sh
