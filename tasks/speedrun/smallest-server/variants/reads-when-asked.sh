#!/bin/bash
# Reads head and directory at the start, and a file each time that it is asked for.
set -eu
made=$(mktemp -d)
cp -r /solution/. "$made"
cd "$made"
python3 - <<'PY'
text = open("server.c").read()
old = text[text.index("static void read_catalogue(void)\n"):text.index("#ifdef DAMAGED\n	damaged = 1;")]
new = """static void read_sectors(u32 sector, u32 n)
{
	u8 *to = (u8 *)&catalogue + sector * 512;
	for (; n--; sector++) {
		outb(0x1f6, 0xf0);
		outb(0x1f2, 1);
		outb(0x1f3, sector);
		outb(0x1f4, sector >> 8);
		outb(0x1f5, 0);
		outb(0x1f7, 0x20);
		while (inb(0x1f7) & 0x80)
			;
		if (!(inb(0x1f7) & 8))
			break;
		u32 words = 256;
		asm volatile("rep insw" : "+D"(to), "+c"(words) : "d"(0x1f0) : "memory");
	}
}

static void read_catalogue(void)
{
	read_sectors(0, 1);
	if (catalogue.count <= SECTORS * 16)
		read_sectors(1, (catalogue.count + 15) / 16);
"""
text = text.replace(old, new)
old = "			length = e->length;\n"
assert text.count(old) == 1
text = text.replace(old, old + "			fill((u8 *)value, 0, length);\n			read_sectors(e->first, (length + 511) / 512);\n")
open("server.c", "w").write(text)
PY
bash solve.sh
