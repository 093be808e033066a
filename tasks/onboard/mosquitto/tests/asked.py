"""What the machine is asked with words of this run: tests, builds, keys."""

import re
from pathlib import Path
from shlex import quote

TEST_SECONDS = 600
#: The line of the broker that tells its version, and what it needs to tell a sum instead.
VERSION_LINE = 'len = (uint32_t)snprintf(buf, 64, "mosquitto version %s", VERSION);'
_SUM_LINES = """{
		unsigned char bench[32];
		SHA256((const unsigned char *)"WORD", strlen("WORD"), bench);
		for(len = 0; len < 31; len++) snprintf(buf + 2*len, 3, "%02x", bench[len]);
		len = 62;
	}"""


def run_tests(guest, names):
    """The status, each test's result, and what was printed."""
    done = guest.run(f"project-test {' '.join(map(quote, names))} 2>&1", TEST_SECONDS)
    found = re.findall(r"^(PASS|FAIL) (\S+)\s*$", done.stdout, re.MULTILINE)
    return done.status, {name: result for result, name in found}, done.stdout


def seal_test(prefix, key, mode, word):
    """A test of the plug-in, as one of the project's."""
    text = (Path(__file__).parent / "seal_test.py.txt").read_text()
    for old, new in {"PREFIX": prefix, "KEY": key, "MODE": mode, "WORD": word}.items():
        text = text.replace(f"@{old}@", new)
    return text


def listening(guest, port):
    """The sockets, by their inodes, that listen at a TCP port."""
    said = guest.run("cat /proc/[0-9]*/net/tcp* 2>/dev/null | sort -u").stdout
    lines = [line.split() for line in said.splitlines()]
    wanted = f":{port:04X}"
    return {f[9] for f in lines if len(f) > 9 and f[3] == "0A" and f[1].endswith(wanted)}


def users_at(guest, port):
    """All user ids of the processes that hold a TCP port, without PID 1."""
    sockets = {f"socket:[{inode}]" for inode in listening(guest, port)}
    assert sockets, f"nothing listens at port {port}"
    ask = "find /proc/[0-9]*/fd -lname 'socket:*' -printf '%p %l\\n' 2>/dev/null"
    found = [line.split() for line in guest.run(ask, 120).stdout.splitlines()]
    owners = {path.split("/")[2] for path, name in found if name in sockets} - {"1"}
    assert owners, f"no process holds port {port}"
    status = " ".join(f"/proc/{pid}/status" for pid in sorted(owners))
    return guest.run(f"grep -h ^Uid: {status} 2>/dev/null").stdout.split()


def telling_source(text, word):
    """`src/sys_tree.c` that has the broker tell, as its version, the first 62 digits of the sum of
    a word, which only who builds it can."""
    told = text.replace(VERSION_LINE, _SUM_LINES.replace("WORD", word))
    return told.replace("#include <stdio.h>", "#include <stdio.h>\n#include <openssl/sha.h>", 1)
