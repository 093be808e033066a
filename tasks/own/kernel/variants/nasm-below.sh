#!/bin/bash
# Its sources lie two folders deep, the Makefile above hands on; memset is written for nasm.
set -eu
work=$(mktemp -d)
cp -r /solution/. "$work/"
cd "$work"
mkdir -p deep
mv src deep/
cat > deep/src/lib/set.asm <<'ASM'
bits 64
section .note.GNU-stack noalloc noexec nowrite progbits
section .text
global memset
memset:
	push rdi
	mov eax, esi
	mov rcx, rdx
	cld
	rep stosb
	pop rax
	ret
ASM
sed -i 's/^void \*memset(void \*to, int byte, size_t n)/__attribute__((unused)) static void *set_in_c(void *to, int byte, size_t n)/' deep/src/lib/string.c
grep -q set_in_c deep/src/lib/string.c
sed -i 's/^kernel.elf: $(OBJECTS)/build\/set.o: lib\/set.asm\n\t@mkdir -p build\n\tnasm -felf64 -o $@ $<\n\nkernel.elf: build\/set.o $(OBJECTS)/; s/-o $@ $(OBJECTS)/-o $@ build\/set.o $(OBJECTS)/' deep/src/Makefile
grep -q nasm deep/src/Makefile
mkdir src
mv deep src/deep
printf 'kernel.elf:\n\t$(MAKE) -C deep/src kernel.elf\n\tcp deep/src/kernel.elf kernel.elf\n\n.PHONY: kernel.elf\n' > src/Makefile
bash solve.sh
