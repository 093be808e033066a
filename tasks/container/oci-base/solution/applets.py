"""applets.py COMMANDS SOURCES: the default configuration without the applets that nobody wants."""

import pathlib
import re
import sys

wanted = set(pathlib.Path(sys.argv[1]).read_text().split())
sources = pathlib.Path(sys.argv[2])
applets = {}
for file in [*sources.rglob("*.c"), sources / "include/applets.src.h"]:
    text = file.read_text(errors="replace")
    for symbol, name in re.findall(r"IF_(\w+)\(\s*APPLET\w*\(\s*([^,\s]+)\s*,", text):
        applets.setdefault(symbol, set()).add(name)
values = {symbol: "y" if names & wanted else "n" for symbol, names in applets.items()}
UNWANTED = """
SHELL_HUSH MODPROBE_SMALL FEATURE_SUID FEATURE_INSTALLER FEATURE_SYSLOG FEATURE_UTMP FEATURE_WTMP
FEATURE_PIDFILE FEATURE_SH_STANDALONE FEATURE_PREFER_APPLETS FEATURE_SH_NOFORK FEATURE_VI_REGEX_SEARCH
FEATURE_VERBOSE_USAGE FEATURE_IPV6 FEATURE_SEAMLESS_XZ FEATURE_SEAMLESS_LZMA FEATURE_SEAMLESS_BZ2
FEATURE_SEAMLESS_Z UNICODE_SUPPORT ASH_MAIL ASH_IDLE_TIMEOUT LZMA XZ DPKG_DEB FEATURE_LZMA_FAST VOLUMEID
SWAPON RUN_INIT FDFLUSH USE_BB_CRYPT USE_BB_PWD_GRP FEATURE_TAR_TO_COMMAND
"""  # noqa: E501
values |= dict.fromkeys(UNWANTED.split(), "n")
values |= {
    "SH_IS_ASH": "y", "BASH_IS_NONE": "y",
    "EXTRA_CFLAGS": '"-Os -fno-asynchronous-unwind-tables"',
    "EXTRA_LDFLAGS": '"-Wl,--build-id=none"',
}  # fmt: skip
seen = set()
for line in (sources / ".config").read_text().splitlines():
    found = re.match(r"(?:# )?CONFIG_(\w+)(?:=| is not set)", line)
    if found and found[1] in values:
        seen.add(found[1])
        value = values[found[1]]
        line = f"# CONFIG_{found[1]} is not set" if value == "n" else f"CONFIG_{found[1]}={value}"
    print(line)
