#!/bin/bash
# Delivers the router. With STOP_AFTER=<milestone> it does what is asked for up to there: the
# sections of the later ones are left out.
set -euo pipefail
mkdir -p /app/out/site
python3 - "${STOP_AFTER:-}" /solution/router /app/out/site/start <<'EDIT'
import re, sys
stop, source, target = sys.argv[1:]
head, *sections = re.split(r"(?m)^(?=# --- )", open(source).read())
names = [re.match(r"# --- (.*?) -", one)[1] for one in sections]
assert not stop or stop in names, stop
last = names.index(stop) if stop else len(names)
kept = [one for at, one in enumerate(sections) if at <= last or names[at] == "all of it"]
open(target, "w").write(head + "".join(kept))
EDIT
chmod 755 /app/out/site/start
ln -sf start "/app/out/site/{{axis_word}}"
