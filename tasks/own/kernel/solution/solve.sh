#!/bin/bash
# The oracle: a kernel in C, its changes of the file system written as transactions.
set -euo pipefail
ladder="builds first-line memory-map panic power-off elf write-read memory files processes pipes signals shell time terminal demand-paging file-writes threads polling unix-sockets network tcp two-processors memory-pressure stress-night power-cuts"

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p /app/kernel
cp -r "$here"/src/. /app/kernel/
rm -rf /app/kernel/build /app/kernel/kernel.elf
