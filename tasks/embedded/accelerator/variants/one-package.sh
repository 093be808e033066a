#!/bin/bash
# One package with everything, the library beside others in /usr/lib, a tool that loads it at run time and has other words, nodes whose group and mode a rule of another kind sets.
set -euo pipefail
honest=$(mktemp -d)
cp -r /solution/. "$honest"
python3 - "$honest" <<'PY'
import re, sys
folder = sys.argv[1]
text = open(f"{folder}/solve.sh").read()
def put(old, new, times=1):
    global text
    assert text.count(old) == times, (old, text.count(old))
    text = text.replace(old, new)
put("gcc -O2 -Wall $user_flags -o kvarn kvarn.c -L. -lkvarn", "gcc -O2 -Wall $user_flags -o kvarn kvarn.c")
put("tree=$work/packages/kvarn-modules", "tree=$work/packages/ostervik-kvarn-k4")
put("tree=$work/packages/kvarn\n", "tree=$work/packages/ostervik-kvarn-k4\n")
put("tree=$work/packages/libkvarn-dev", "tree=$work/packages/ostervik-kvarn-k4")
put("usr/lib/x86_64-linux-gnu", "usr/lib", 3)
put("60-kvarn.rules", "91-cards.rules")
put('SUBSYSTEM=="misc", KERNEL=="kvarn-*", GROUP="kvarn", MODE="$mode"',
    'ACTION!="remove", KERNEL=="kvarn-0000:*", OWNER="root", GROUP="kvarn", MODE="$mode", OPTIONS+="nowatch"')
for name in ("kvarn-modules ", "kvarn ", "libkvarn-dev "):
    text, count = re.subn(rf"(?m)^package {name}.*\n", "", text)
    assert count == 1, name
scripts = re.findall(r"(?ms)^put 755 \"\$tree/DEBIAN/(\w+)\" <<'?SCRIPT'?\n(.*?)^SCRIPT\n", text)
text = re.sub(r"(?ms)^put 755 \"\$tree/DEBIAN/\w+\" <<'?SCRIPT'?\n.*?^SCRIPT\n", "", text)
at = text.index("# ---- the system ----")
text = text[:at] + '''
put 755 "$tree/DEBIAN/postinst" <<SCRIPT
#!/bin/sh
set -e
[ "\\$1" = configure ] || exit 0
getent group kvarn >/dev/null || groupadd --system kvarn
ldconfig
depmod $kernel
if [ -d /run/systemd/system ]; then
	udevadm control --reload
	udevadm trigger --action=add --subsystem-match=pci --attr-match=vendor=0x1234
	udevadm settle --timeout=30 || :
	udevadm trigger --action=add --subsystem-match=misc
	udevadm settle --timeout=30 || :
fi
SCRIPT
put 755 "$tree/DEBIAN/prerm" <<SCRIPT
#!/bin/sh
set -e
[ "\\$1" != remove ] || [ ! -d /sys/module/kvarn ] || rmmod kvarn
SCRIPT
put 755 "$tree/DEBIAN/postrm" <<SCRIPT
#!/bin/sh
set -e
[ "\\$1" != remove ] || ldconfig
[ "\\$1" != remove ] || depmod $kernel
exit 0
SCRIPT
package ostervik-kvarn-k4 "linux-image-$kernel, kmod, libc6, passwd, udev" "all for the Kvarn K4 card"

''' + text[at:]
at, end = text.index("chosen=\n"), text.index("has system ||")
text = text[:at] + 'chroot "$root" dpkg --install /srv/kvarn/ostervik-kvarn-k4_1.0-1_amd64.deb >/dev/null\n' + text[end:]
open(f"{folder}/solve.sh", "w").write(text)

tool = open(f"{folder}/user/kvarn.c").read()
tool = tool.replace('#include "kvarn.h"\n', '''#include <dlfcn.h>
#include "kvarn.h"

static void *library(const char *name)
{
	static void *handle;
	void *found;

	if (!handle)
		handle = dlopen("libkvarn.so.1", RTLD_NOW);
	found = handle ? dlsym(handle, name) : NULL;
	if (!found) {
		fputs("biblioteket mangler\\n", stderr);
		exit(1);
	}
	return found;
}
''' + "".join(f'#define {name} ((__typeof__({name}) *)library("{name}"))\n' for name in
    ("kvarn_list", "kvarn_open", "kvarn_close", "kvarn_alive", "kvarn_factorial", "kvarn_copy",
     "kvarn_put", "kvarn_get", "kvarn_ping")))
tool = tool.replace('"no card"', '"intet kort"').replace("usage: kvarn list", "brug: kvarn list")
tool = tool.replace('"kvarn: %s\\n"', '"Fejl (%s)\\n"')
open(f"{folder}/user/kvarn.c", "w").write(tool)
PY
bash "$honest/solve.sh"
