"""parcels.py WORK TARGET STAGE...: the seven parcels of the base list, as far as the stages go."""

import hashlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tarfile

work, target = map(pathlib.Path, sys.argv[1:3])
stages = set(sys.argv[3:])
order, bench = pathlib.Path("/app/order"), pathlib.Path("/app/bench")


def header(name, size):
    made = tarfile.TarInfo(name)
    made.mode, made.size = 0o644, size
    return made.tobuf(tarfile.USTAR_FORMAT)


def parcel(name, version, entries, needs=(), replaces=()):
    """`entries`: path to ("dir", mode), ("file", mode, bytes), ("symlink", target) or
    ("hardlink", target); an owner may follow."""
    lines = ["parcel\t1", f"name\t{name}", f"version\t{version}"]
    lines += [f"needs\t{word}" for word in sorted(needs)]
    lines += [f"replaces\t{word}" for word in sorted(replaces)]
    contents = []
    for path, (kind, *rest) in sorted(entries.items(), key=lambda item: item[0].encode()):
        if kind == "dir":
            owner = rest[1] if len(rest) > 1 else 0
            lines.append(f"dir\t{rest[0]:04o}\t{owner}\t{owner}\t{path}")
        elif kind == "file":
            mode, data = rest[:2]
            digest = hashlib.sha256(data).hexdigest()
            lines.append(f"file\t{mode:04o}\t0\t0\t{len(data)}\t{digest}\t{path}")
            contents.append(data)
        elif kind == "symlink":
            lines.append(f"symlink\t0\t0\t{rest[0]}\t{path}")
        else:
            lines.append(f"hardlink\t{rest[0]}\t{path}")
    manifest = ("\n".join(lines) + "\n").encode()
    out = io.BytesIO()
    members = [("PARCEL", manifest)]
    members += [(f"data/{number:06d}", data) for number, data in enumerate(contents, 1)]
    for member, data in members:
        out.write(header(member, len(data)) + data + bytes(-len(data) % 512))
    out.write(bytes(1024))
    (target / f"{name}_{version}.parcel").write_bytes(out.getvalue())


def folders(*paths, mode=0o755):
    return dict.fromkeys(paths, ("dir", mode))


def text(data, mode=0o644):
    return ("file", mode, data.encode())


def base_files():
    entries = folders("bin", "dev", "etc", "home", "lib", "proc", "root", "run", "sys", "usr",
                      "usr/bin", "usr/share", "var")  # fmt: skip
    entries["root"] = ("dir", 0o700)
    entries["tmp"] = ("dir", 0o1777)
    entries["home/harbor"] = ("dir", 0o700, 10001 if "user" in stages else 0)
    entries["etc/passwd"] = text(
        "root:x:0:0:root:/root:/bin/sh\nharbor:x:10001:10001:harbor:/home/harbor:/bin/sh\n"
    )
    entries["etc/group"] = text("root:x:0:\nharbor:x:10001:\n")
    entries["etc/shadow"] = text("root:*:::::::\nharbor:*:::::::\n", 0o600)
    entries["etc/os-release"] = text(
        'ID=harbour\nNAME="harbour base"\nPRETTY_NAME="harbour base 2.4"\nVERSION_ID=2.4\n'
    )
    entries["etc/localtime"] = ("symlink", "/usr/share/zoneinfo/UTC")
    if "slim" not in stages:
        entries |= folders("usr/share/doc")
        entries["usr/share/doc/README"] = text("Made in /app/out.\n")
        entries["usr/share/doc/filler"] = ("file", 0o644, os.urandom(400_000))
    parcel("base-files", "2.4", entries)


def musl():
    library = (work / "libc.so").read_bytes()
    entries = folders("lib")
    entries["lib/ld-musl-x86_64.so.1"] = ("file", 0o755, library)
    parcel("musl", "1.2.3", entries)


def busybox():
    entries = folders("bin", "usr", "usr/bin")
    entries["bin/busybox"] = ("file", 0o755, (work / "busybox").read_bytes())
    if "boots" in stages:
        for command in (bench / "commands").read_text().split():
            entries[f"bin/{command}"] = ("symlink", "busybox")
    parcel("busybox", "1.35.0", entries, needs=["musl"])


def almanac():
    entries = folders("etc", "usr", "usr/bin")
    entries["usr/bin/almanac"] = ("file", 0o755, (work / "almanac").read_bytes())
    entries["etc/almanac.conf"] = ("file", 0o644, (order / "almanac/almanac.conf").read_bytes())
    parcel("almanac", "2.4", entries, needs=["ca-bundle", "musl", "zoneinfo"])


def trust():
    entries = folders("etc", "etc/ssl", "etc/ssl/certs")
    certificates = []
    for file in sorted((work / "ca/usr/share/ca-certificates").rglob("*.crt")):
        body = re.search(
            rb"-----BEGIN CERTIFICATE-----\n.*?-----END CERTIFICATE-----\n", file.read_bytes(), re.S
        )
        certificates.append((file.stem, body[0]))
    bundle = b"".join(data for _, data in certificates)
    if "trust" in stages:
        taken = {}
        for name, data in certificates:
            said = subprocess.run(
                ["openssl", "x509", "-noout", "-subject_hash"],
                input=data,
                capture_output=True,
                check=True,
            ).stdout
            short = said.decode().strip()
            number = taken[short] = taken.get(short, -1) + 1
            entries[f"etc/ssl/certs/{short}.{number}"] = ("symlink", f"{name}.pem")
            entries[f"etc/ssl/certs/{name}.pem"] = ("file", 0o644, data)
    else:
        bundle = bundle[: len(certificates[0][1])]
    entries["etc/ssl/certs/ca-certificates.crt"] = ("file", 0o644, bundle)
    parcel("ca-bundle", "20230311", entries)


def zones():
    entries = folders("usr", "usr/share", "usr/share/zoneinfo")
    seen = {}
    if "zones" in stages:
        for file in sorted((work / "zoneinfo").rglob("*")):
            path = f"usr/share/zoneinfo/{file.relative_to(work / 'zoneinfo')}"
            if file.is_dir():
                entries[path] = ("dir", 0o755)
                continue
            data = file.read_bytes()
            if data in seen:
                entries[path] = ("hardlink", seen[data])
            else:
                entries[path], seen[data] = ("file", 0o644, data), path
    else:
        entries["usr/share/zoneinfo/UTC"] = ("file", 0o644, (work / "zoneinfo/UTC").read_bytes())
    parcel("zoneinfo", "2026b", entries)


target.mkdir(parents=True, exist_ok=True)
for make in (base_files, musl, busybox, almanac, trust, zones):
    make()
