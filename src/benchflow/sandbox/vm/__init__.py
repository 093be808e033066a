"""A real machine as a sandbox: a guest of QEMU, which itself runs in a namespace sandbox."""
