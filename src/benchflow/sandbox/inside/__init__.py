"""The trusted helper of a sandbox: stdlib only, single-threaded, run by `python -I -S`.

`launch` runs outside (it makes the namespaces), `init` is process 1 inside. Neither ever execs
again after its user namespace exists: the kernel therefore keeps their memory owned by the
*host's* user namespace, and no root inside can trace them, read their memory or their file
descriptors.
"""
