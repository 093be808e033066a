"""The reference boot: a tiny program that does a fixed amount of work on the bare machine.

It prints `B` on the serial port, waits for a character from us, works, prints `E`, and halts. The
clock is read before that character is sent, and again when `E` is here: both times nothing of the
work can be under way, however late a busy host lets us look. The work is 20 Mi rounds of an
xorshift64 generator whose values address a read-modify-write in 1 MiB of memory: arithmetic,
translated jumps and soft-MMU accesses, of which booting under TCG consists. The x86 program is a
boot sector, so SeaBIOS runs too, and it goes through protected into long mode with paging on
before it works: an accelerator that cannot boot a real guest fails here.

The sources, for `as` (ROUNDS = 20 << 20):

x86_64 (ld -Ttext 0x7c00 --oformat binary; an identity-mapped 2 MiB page at 0, tables at 0x1000)
    .code16;  cli; xorw %ax,%ax; movw %ax,%ds; movw %ax,%es; movw %ax,%ss; movw $0x7c00,%sp
    movw $0x1000,%di; movw $0x1800,%cx; rep stosw
    movw $0x2003,0x1000; movw $0x3003,0x2000; movw $0x83,0x3000
    movl $0x1000,%eax; movl %eax,%cr3; movl %cr4,%eax; orb $0x20,%al; movl %eax,%cr4
    movl $0xc0000080,%ecx; rdmsr; orb $1,%ah; wrmsr
    lgdt gdtr; movl %cr0,%eax; orl $0x80000001,%eax; movl %eax,%cr0; ljmp $8,$long
    .balign 8;  gdt: .quad 0, 0x00209a0000000000;  gdtr: .word 15; .long gdt
    .code64;  long: movw $0x3f8,%dx; movb $'B',%al; outb %al,%dx
    movb $0xfd,%dl; 3: inb %dx,%al; testb $1,%al; jz 3b; movb $0xf8,%dl
    movq $0x9e3779b97f4a7c15,%rsi; movl $ROUNDS,%ecx
 1: movq %rsi,%rax; shlq $13,%rax; xorq %rax,%rsi; movq %rsi,%rax; shrq $7,%rax; xorq %rax,%rsi
    movq %rsi,%rax; shlq $17,%rax; xorq %rax,%rsi; movl %esi,%edi; andl $0xfffc0,%edi
    addq %rsi,0x100000(%rdi); decl %ecx; jnz 1b
    movb $'E',%al; outb %al,%dx;  2: hlt; jmp 2b

aarch64 (-kernel on `virt`: PL011 at 0x09000000, memory from 0x40000000)
    movz x1,#0x0900,lsl #16; mov w2,#'B'; strb w2,[x1];  3: ldr w2,[x1,#0x18]; tbnz w2,#4,3b
    movz x3,#0x7c15; movk x3,#0x7f4a,lsl #16; movk x3,#0x79b9,lsl #32; movk x3,#0x9e37,lsl #48
    movz x4,#0x4010,lsl #16; movz w5,#(ROUNDS >> 16),lsl #16
 1: eor x3,x3,x3,lsl #13; eor x3,x3,x3,lsr #7; eor x3,x3,x3,lsl #17; and x6,x3,#0xfffc0
    add x6,x6,x4; ldr x7,[x6]; add x7,x7,x3; str x7,[x6]; subs w5,w5,#1; b.ne 1b
    mov w2,#'E'; strb w2,[x1];  2: wfi; b 2b

riscv64 (-bios on `virt`: 16550 at 0x10000000, memory from 0x80000000; .option norvc)
    lui t0,0x10000; li t1,'B'; sb t1,0(t0);  3: lbu t1,5(t0); andi t1,t1,1; beqz t1,3b
    li t2,0x79b97f4a7c15
    lui t3,0x80100; slli t3,t3,32; srli t3,t3,32; lui t4,(ROUNDS >> 12)
    lui t5,0xff; ori t5,t5,0x7c0
 1: slli t6,t2,13; xor t2,t2,t6; srli t6,t2,7; xor t2,t2,t6; slli t6,t2,17; xor t2,t2,t6
    and t6,t2,t5; add t6,t6,t3; ld a0,0(t6); add a0,a0,t2; sd a0,0(t6); addiw t4,t4,-1; bnez t4,1b
    li t1,'E'; sb t1,0(t0);  2: wfi; j 2b
"""

from __future__ import annotations

import base64
import contextlib
import tempfile
import threading
import time
from pathlib import Path

from benchflow.boot.machine.firmware import program
from benchflow.boot.machine.qemu_command import SANDBOX
from benchflow.boot.machine.qemu_process import Process, sockets

_PROGRAMS = {
    "x86_64": (
        "+jHAjtiOwI7QvAB8vwAQuQAY86vHBgAQAyDHBgAgAzDHBgAwgwBmuAAQAAAPItgPIOAMIA8i4Ga5gAAAwA8ygMwB"
        "DzAPARZwfA8gwGYNAQAAgA8iwOp2fAgAZg8fRAAAAAAAAAAAAAAAAAAAAJogAA8AYHwAAGa6+AOwQu6y/eyoAXT7"
        "svhIvhV8Sn+5eTeeuQAAQAFIifBIweANSDHGSInwSMHoB0gxxkiJ8EjB4BFIMcaJ94HnwP8PAEgBtwAAEAD/yXXP"
        "sEXu9Ov9"
    ),
    "aarch64": (
        "ASCh0kIIgFIiAAA5IhhAueL/Jzejgo/SQ+mv8iM3z/LjxvPyBAKo0gUooFJjNAPKYxxDymNEA8pmNHqSxgAEi8cA"
        "QPnnAAOLxwAA+aUEAHHh/v9UogiAUiIAADl/IAPV////Fw=="
    ),
    "riscv64": (
        "twIAEBMDIAQjgGIAA8NSABNzEwDjDAP+t/MAAJuDMzeTkwMBk4NT6ZOT8wCTg1PBNw4QgBMeDgITXg4Ctw5AATf/"
        "DwATbw98k5/TALPD8wGT33MAs8PzAZOfEwGzw/MBs//jAbOPzwEDtQ8AMwV1ACOwrwCbjv7/45gO/BMDUAQjgGIA"
        "cwBQEG/w3/8="
    ),
}


def payload(arch: str) -> bytes:
    """The program of the module's docstring, as QEMU loads it."""
    code = base64.b64decode(_PROGRAMS[arch])
    return code.ljust(510, b"\0") + b"\x55\xaa" if arch == "x86_64" else code


def reference_boot(arch: str, accelerator: str, seconds: float, sandbox: bool) -> float | None:
    """Processor seconds that the work took; None when it did not end within real `seconds`.

    Time that QEMU waited for a processor is not in the result.
    """
    with tempfile.TemporaryDirectory(prefix="benchflow-ref-") as folder:
        image = Path(folder) / "reference"
        image.write_bytes(payload(arch))
        return _Run(_command(arch, accelerator, image, sandbox)).result(seconds)


class _Run:
    def __init__(self, command: list[str]) -> None:
        self._times: list[float] = []
        self._ended = threading.Event()
        serial, qmp = sockets(), sockets()
        fds = ["-chardev", f"socket,id=s,fd={serial[1].fileno()}", "-serial", "chardev:s"]
        fds += ["-chardev", f"socket,id=q,fd={qmp[1].fileno()}", "-mon", "chardev=q,mode=control"]
        self._process = Process(
            [*command, *fds],
            serial=serial,
            qmp=qmp,
            file_size_limit=1 << 20,
            on_output=self._output,
            on_event=lambda _: None,
            on_exit=self._ended.set,
        )

    def result(self, seconds: float) -> float | None:
        self._process.start()
        self._ended.wait(seconds)
        self._process.kill()
        return self._times[1] - self._times[0] if len(self._times) == 2 else None

    def _output(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # it ended: there is nothing to measure
            if b"B" in data and not self._times:
                self._times.append(_processor_seconds(self._process.pid))
                self._process.write(b"\n")
            elif b"E" in data and len(self._times) == 1:
                self._times.append(_processor_seconds(self._process.pid))
                self._ended.set()


def _processor_seconds(pid: int) -> float:
    """What all threads of a process have run so far; see clock_getcpuclockid(3)."""
    return time.clock_gettime((~pid << 3) | 2)  # Linux: MAKE_PROCESS_CPUCLOCK, CPUCLOCK_SCHED


def _command(arch: str, accelerator: str, image: Path, sandbox: bool) -> list[str]:
    command = [program(arch), "-nodefaults", "-no-user-config", "-display", "none", "-m", "16"]
    command += ["-accel", accelerator, "-cpu", _cpu(arch, accelerator)]
    if sandbox:
        command += ["-sandbox", SANDBOX]
    if arch == "x86_64":
        drive = f"if=ide,format=raw,readonly=off,snapshot=off,file={image}"
        return [*command, "-machine", "pc", "-drive", drive]
    return [*command, "-machine", "virt", "-kernel" if arch == "aarch64" else "-bios", str(image)]


def _cpu(arch: str, accelerator: str) -> str:
    if accelerator == "kvm":
        return "host"
    return "rv64" if arch == "riscv64" else "max"
