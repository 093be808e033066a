#!/bin/bash
# The FIFO stays off: the line status is read before each byte.
set -eu
cp -r /solution /tmp/otherwise
cd /tmp/otherwise
python3 - <<'PY'
text = open("firmware.c").read()
text = text.replace("	UART[2] = 1;\n", "").replace("length < 16 ? length : 16", "1")
assert "u64 now = 1;" in text
open("firmware.c", "w").write(text)
PY
bash solve.sh
