#!/bin/bash
# No address of its own: index and stack are reserved in the image (.bss), which is trusted to be zeros.
set -eu
cp -r /solution /tmp/otherwise
cd /tmp/otherwise
python3 - <<'PY'
text = open("firmware.c").read()
old = text[text.index("	for (u64 *p = (u64 *)INDEX"):text.index("	for (u64 number = 0; number < entries; number++) {\n		const struct entry *e = entry(number), *other;")]
text = text.replace(old, "").replace("#define INDEX ((u32 *)0x80800000)", "static u32 INDEX[1 << 19];\n#define UNUSED")
open("firmware.c", "w").write(text)
start = open("start.S").read()
open("start.S", "w").write(start + "\n	.bss\n	.align 4\n	.space 16384\nstack_end:\n")
PY
sed -i '/stack_end/d' board.ld
bash solve.sh
