#!/bin/bash
# Replies are gathered in memory, where the queue was read, and sent when all is done, by the word and by the cause register.
set -eu
cp -r /solution /tmp/otherwise
cd /tmp/otherwise
python3 - <<'PY'
text = open("firmware.c").read()
start, end = text.index("static void say(const u8 *text, u64 length)"), text.index("#define SAY(text)")
new = """static u8 *gathered = (u8 *)0x80300000;

static void say(const u8 *text, u64 length)
{
	while (length--)
		*gathered++ = *text++;
}

static void send(void)
{
	const u8 *at = (const u8 *)0x80300000;
	UART[1] = 2;
	for (; at != gathered; at++) {
		while ((UART[2] & 15) != 2 && !(UART[5] & 0x20))
			;
		*(volatile u32 *)UART = *at;
	}
	UART[1] = 0;
}

"""
text = text[:start] + new + text[end:]
text = text.replace("	UART[2] = 1;\n", "").replace("			*POWER = 0x5555;", "			send();\n			*POWER = 0x5555;")
text = text.replace("void round_of_queries(void)", "static void all(void)") + """
void round_of_queries(void)
{
	all();
	send();
}
"""
open("firmware.c", "w").write(text)
PY
bash solve.sh
