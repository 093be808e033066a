#!/bin/bash
# Loads itself sector by sector, by cylinder and head; its file is a whole number of sectors.
set -eu
made=$(mktemp -d)
cp -r /solution/. "$made"
cd "$made"
python3 - <<'PY'
text = open("start.S").read()
start, end = text.index("1:	mov $packet, %si"), text.index("	cli\n	lgdt")
text = text[:start] + """1:	mov %dl, disk
	mov $8, %ah
	int $0x13		/* its geometry: sectors of a track */
	and $63, %cx
	mov %cx, track
	mov $0x7e0, %di
	mov $1, %bp
	mov $image_sectors, %si
load:	mov %bp, %ax
	xor %dx, %dx
	divw track
	mov %dl, %cl
	inc %cl
	mov %al, %dh		/* the first cylinder is long enough */
	mov disk, %dl
	mov $0, %ch
	mov %di, %es
	xor %bx, %bx
	mov $0x0201, %ax
	int $0x13
	add $32, %di
	inc %bp
	dec %si
	jnz load
""" + text[end:]
start, end = text.index("packet:"), text.index("gdt:")
text = text[:start] + "disk:	.byte 0\ntrack:	.word 0\n\n" + text[end:]
open("start.S", "w").write(text)
text = open("server.c").read()
assert text.count("EARLY static void find_card") == 1
open("server.c", "w").write(text.replace("EARLY static void find_card", "static void find_card"))
PY
bash solve.sh
truncate -s %512 /app/out/box.img
