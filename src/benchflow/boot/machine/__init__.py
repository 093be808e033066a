"""Virtual machines: QEMU, consoles, shells, networks, clocks."""
