#!/bin/bash
# One piece under way at a time; first numbers from the clock, other words, and a reset for strangers.
set -eu
made=$(mktemp -d)
cp -r /solution/. "$made"
cd "$made"
python3 - <<'PY'
text = open("server.c").read()
text = text.replace("#define FLIGHT 4096", "#define FLIGHT 536").replace("#define PIECE 512", "#define PIECE 536")
old = 'to = word(to, " \\r\\nContent-Length: ");'
assert text.count(old) == 1
text = text.replace(old, 'to = word(to, " As asked\\r\\nServer: box\\r\\nConnection: close\\r\\ncontent-length:   ");')
old = "LONGEST_FILE + 64]"
assert text.count(old) == 1
text = text.replace(old, "LONGEST_FILE + 128]")
old = "	u32 n = status == 200 ? length : 0;\n"
assert text.count(old) == 1
text = text.replace(old, """	if (status != 200)
		value = (const u8 *)"There is nothing here.\\n";
	u32 n = status == 200 ? length : 23;
""")
old = "		if (!answers && !(flags & SYN))\n			return;\n"
assert text.count(old) == 1
text = text.replace(old, """		if (!answers && !(flags & SYN)) {
			static struct slot nobody;
			nobody.peer = f->ip.source;
			nobody.port = f->ip.tcp.port;
			copy(nobody.mac, f->from, 6);
			nobody.base = acknowledged;
			if (flags & FIN && flags & ACK)
				put(&nobody, RST, 0);
			return;
		}
""")
# The number of an opening is the peer's and a word of its own.
text = text.replace("acknowledged == sequence && !(flags & SYN)", "acknowledged == (sequence ^ 0x2c9277b5) + 1 && !(flags & SYN)")
text = text.replace("		s->base = s->expected = answers ? sequence : sequence + 1;\n", "		s->expected = answers ? sequence : sequence + 1;\n		s->base = answers ? acknowledged : (sequence + 1) ^ 0x2c9277b5;\n")
text = text.replace("			s->base = sequence;\n", "")
text = text.replace("	if (s && flags & SYN && sequence + 1 != s->base)", "	if (s && flags & SYN && ((sequence + 1) ^ 0x2c9277b5) + 1 != s->base)")
open("server.c", "w").write(text)
PY
grep -q 0x2c9277b5 server.c
bash solve.sh
