#!/bin/bash
# The oracle: a kernel in C, its changes of the file system written as transactions.
# STOP_AFTER=<milestone> leaves out what only later milestones ask for.
set -euo pipefail
ladder="builds first-line memory-map panic power-off elf write-read memory files processes pipes signals shell time terminal demand-paging file-writes threads polling unix-sockets network tcp two-processors memory-pressure stress-night power-cuts"
from-tasks-lib ladder.sh

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p /app/kernel
cp -r "$here"/src/. /app/kernel/
rm -rf /app/kernel/build /app/kernel/kernel.elf

without() { echo "#define WITHOUT_$1" >>/app/kernel/include/without.h; }
has first-line || without FIRST_LINE
has memory-map || without MEMORY_MAP
has panic || without PANIC
has power-off || without POWER_OFF
has elf || without ELF
has write-read || without WRITE_READ
has memory || without MEMORY
has files || without FILES
has processes || without PROCESSES
has pipes || without PIPES
has signals || without SIGNALS
has shell || without SHELL
has time || without TIME
has terminal || without TERMINAL
has demand-paging || without DEMAND_PAGING
has file-writes || without FILE_WRITES
has threads || without THREADS
has polling || without POLLING
has unix-sockets || without UNIX_SOCKETS
has network || without NETWORK
has tcp || without TCP
has two-processors || without TWO_PROCESSORS
has memory-pressure || without MEMORY_PRESSURE
has stress-night || without STRESS_NIGHT
has power-cuts || without POWER_CUTS
