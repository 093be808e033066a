#!/bin/bash
# Has drivers and file systems besides that no unit needs.
set -eu
bash /solution/solve.sh
made=$(mktemp -d)
cp -a /build/objects/. "$made"
MORE="CONFIG_RTC_CLASS=y
CONFIG_RTC_DRV_CMOS=y
CONFIG_VFAT_FS=y
CONFIG_NLS_CODEPAGE_437=y
CONFIG_NLS_ISO8859_1=y
CONFIG_BLK_DEV_LOOP=y
CONFIG_TUN=y
CONFIG_VIRTIO_PCI_LEGACY=y" OBJECTS=$made bash /solution/solve.sh
