#!/bin/bash
# The digest reads the storage itself, whose limit is raised, after it has asked who may read.
set -eu
rm -rf /tmp/otherwise
mkdir /tmp/otherwise
cp -r /solution/. /tmp/otherwise/
python3 - <<'EDIT'
from pathlib import Path

path = Path("/tmp/otherwise/files/collection_digest.py")
text = path.read_text()
head, tail = text.split("    records, path = [], ")
_, rest = tail.split('    key = request.registry')
own = '''    asked = build_request(request, {"method": "GET", "path": f"{place}?_limit=1"})
    asked.headers.update({k: v for k, v in request.headers.items() if k == "Authorization"})
    request.invoke_subrequest(asked, use_tweens=False)
    parent = place.removesuffix("/records")
    records = request.registry.storage.list_all(resource_name="record", parent_id=parent)
'''
run = Path("/tmp/otherwise/files/run.py")
limit = "kinto.storage_max_fetch_size = 10000000\n"
run.write_text(run.read_text().replace("kinto.cache_backend", limit + "kinto.cache_backend"))
path.write_text(head + own + "    key = request.registry" + rest)
EDIT
bash /tmp/otherwise/solve.sh
