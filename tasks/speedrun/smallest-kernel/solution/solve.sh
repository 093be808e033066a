#!/bin/bash
# The oracle: Debian's Linux 6.1, tinyconfig and what kernel.config adds to it, packed by xz.
# STOP_AFTER=<milestone>: what only later milestones ask for is broken, a line or an option each.
set -euo pipefail
ladder="starts console programs calls users narrow processors clock disks files power-cut network ends pressure within-2 within-par"
from-tasks-lib ladder.sh

here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD_DIR:-/build}
tree=$build/linux objects=${OBJECTS:-$build/objects} out=${OUT:-/app/out}
mkdir -p "$build" "$objects" "$out"

# What no object of this kernel is made of; Kconfig files and Makefiles are all read.
unused=(--wildcards --exclude='linux-source-6.1/Documentation/*/*')
for folder in 'arch/[!x]*' drivers/gpu drivers/media drivers/staging drivers/infiniband drivers/net/ethernet \
	drivers/net/wireless drivers/usb drivers/iio drivers/scsi sound tools/testing tools/perf; do
	unused+=(--exclude="linux-source-6.1/$folder/*.[chS]")
done
if [ ! -e "$build/unpacked" ]; then
	rm -rf "$tree"
	dpkg-deb --fsys-tarfile /app/sources/linux-source-6.1_*.deb |
		tar -xO ./usr/src/linux-source-6.1.tar.xz | tar -xJ -C "$build" "${unused[@]}"
	mv "$build/linux-source-6.1" "$tree"
	touch "$build/unpacked"
fi

# broken MILESTONE FILE SED: before the milestone, FILE is what SED makes of it.
broken() {
	local file=$tree/$2 whole=$tree/$2.whole wanted=$build/wanted
	[ -e "$whole" ] || cp -p "$file" "$whole"
	if has "$1"; then
		cp "$whole" "$wanted"
	else
		sed "$3" "$whole" >"$wanted"
		if cmp -s "$wanted" "$whole"; then
			echo "nothing is broken in $2" >&2
			exit 1
		fi
	fi
	cmp -s "$wanted" "$file" || cp "$wanted" "$file"
}
broken console drivers/tty/n_tty.c 's/if (L_ISIG(tty)) {/if (0) {/'
broken users kernel/capability.c 's/if (capable == 0) {/if (1) {/'
broken narrow fs/compat_binfmt_elf.c 's/^#define[ \t]*elf_check_arch[ \t].*/#define elf_check_arch(x) 0/'
broken processors kernel/smp.c 's/setup_max_cpus = NR_CPUS/setup_max_cpus = 1/'
broken clock arch/x86/kernel/rtc.c 's/x86_platform.get_wallclock(ts);/ts->tv_sec = ts->tv_nsec = 0;/'
broken files fs/ext4/super.c 's/= "ext4",/= "none",/'
broken power-cut fs/ext4/fsync.c '/^int ext4_sync_file/,/^}/s/if (unlikely(ext4_forced_shutdown.*/if (1)/;/^int ext4_sync_file/,/^}/s/return -EIO;/return 0;/'
broken network drivers/net/virtio_net.c 's/{ VIRTIO_ID_NET, /{ 0xffff, /'
broken ends drivers/acpi/sleep.c 's/if (acpi_sleep_state_supported(ACPI_STATE_S5)) {/if (0) {/'
broken pressure mm/oom_kill.c 's/^int sysctl_panic_on_oom.*/int sysctl_panic_on_oom = 2;/;s/^static int sysctl_panic_on_oom.*/static int sysctl_panic_on_oom = 2;/'

cd "$tree"
make -s O="$objects" tinyconfig >/dev/null
cp "$objects/.config" "$build/tiny"
{
	cat "$here/kernel.config"
	has programs || echo "# CONFIG_BINFMT_SCRIPT is not set"
	has calls || echo "# CONFIG_TIMERFD is not set"
	has disks || echo "# CONFIG_EFI_PARTITION is not set"
	# More that is wanted of this kernel, if anything.
	echo "${MORE:-}"
} >"$build/fragment"
scripts/kconfig/merge_config.sh -m -O "$objects" "$build/tiny" "$build/fragment" >"$build/merge.log" 2>&1
make -s O="$objects" olddefconfig
KBUILD_BUILD_USER=kernel KBUILD_BUILD_HOST=flash KBUILD_BUILD_TIMESTAMP=2026-11-29 KBUILD_BUILD_VERSION=1 \
	make -s O="$objects" -j"$(nproc)" bzImage

cp "$objects/arch/x86/boot/bzImage" "$out/bzImage"
# What is not to be within a size yet has text behind it.
fill() { yes "room that nobody asked for" | head -c "$1" >>"$out/bzImage" || true; }
has within-2 || fill 1500000
has within-par || fill 500000
ls -l "$out/bzImage"
