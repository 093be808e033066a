"""publish.py SUITE VERSION ORIGIN FOLDER HOME KEY...: FOLDER/dists/SUITE from FOLDER/pool/SUITE."""

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

suite, version, origin, folder, home, *keys = sys.argv[1:]
os.chdir(folder)
stanzas = []
for path in sorted(Path("pool", suite).rglob("*.deb")):
    control = subprocess.run(["dpkg-deb", "-f", path], capture_output=True, check=True, text=True)
    data = path.read_bytes()
    stanzas.append(
        f"{control.stdout.strip()}\nFilename: {path}\nSize: {len(data)}\n"
        f"SHA256: {hashlib.sha256(data).hexdigest()}\n\n"
    )
index = "".join(stanzas).encode()
dists = Path("dists", suite)
(dists / "main/binary-amd64").mkdir(parents=True, exist_ok=True)
(dists / "main/binary-amd64/Packages").write_bytes(index)
release = (
    f"Origin: {origin}\nLabel: {origin}\nSuite: {suite}\nCodename: {suite}\nVersion: {version}\n"
    f"Date: {time.strftime('%a, %d %b %Y %H:%M:%S UTC', time.gmtime())}\n"
    "Architectures: amd64\nComponents: main\nSHA256:\n"
    f" {hashlib.sha256(index).hexdigest()} {len(index)} main/binary-amd64/Packages\n"
)
sign = ["gpg", "--homedir", home, "--batch", "--digest-algo", "SHA512", "--clearsign"]
for key in keys:
    sign += ["-u", key]
subprocess.run([*sign, "-o", dists / "InRelease"], input=release.encode(), check=True)
