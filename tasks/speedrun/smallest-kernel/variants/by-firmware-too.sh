#!/bin/bash
# Can be started by UEFI, too.
set -eu
bash /solution/solve.sh
made=$(mktemp -d)
cp -a /build/objects/. "$made"
MORE="CONFIG_EFI=y
CONFIG_EFI_STUB=y" OBJECTS=$made bash /solution/solve.sh
