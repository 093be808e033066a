#!/bin/bash
# RSA of 3072 and 4096 bits, one exponent 3; own lists; osslsigncode; roothash= first, in capitals.
set -eu
apt-get -qq update
apt-get -qq install -y --no-install-recommends osslsigncode >/dev/null 2>&1
cp -r /solution /tmp/variant
cd /tmp/variant
cat >list.py <<'PY'
import sys, uuid, struct, subprocess
crt, esl = sys.argv[1:]
der = subprocess.run(["openssl", "x509", "-in", crt, "-outform", "DER"], capture_output=True, check=True).stdout
kind = uuid.UUID("a5c059a1-94e4-4aa7-87b5-ab155c2bf072").bytes_le
body = uuid.uuid4().bytes_le + der
open(esl, "wb").write(kind + struct.pack("<III", 28 + len(body), 0, len(body)) + body)
PY
python3 - <<'PY'
text = open("solve.sh").read()
a, b = text.index("	openssl req -newkey rsa:2048"), text.index("}\nfor name in PK KEK db")
text = text[:a] + '''	local bits=3072 exponent=65537
	[ "$1" != PK ] || bits=4096
	[ "$1" != db ] || exponent=3
	openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:$bits -pkeyopt rsa_keygen_pubexp:$exponent -out "$work/$1.key" 2>/dev/null
	openssl req -new -x509 -sha384 -days 7300 -subj "/O=Vakt/CN=$1/" -key "$work/$1.key" -out "$work/$1.crt"
	python3 "$here/list.py" "$work/$1.crt" "$work/$1.esl"
''' + text[b:]
text = text.replace("""printf '%s roothash=%s' "$cmdline" "$hash" >""", """printf 'roothash=%s %s\\n' "${hash^^}" "$cmdline" >""")
text = text.replace('sbsign --key "$work/db.key" --cert "$work/db.crt" --output "$work/BOOTX64.EFI" "$work/unit.efi" 2>/dev/null',
    'osslsigncode sign -h sha256 -certs "$work/db.crt" -key "$work/db.key" -in "$work/unit.efi" -out "$work/BOOTX64.EFI" >/dev/null')
open("solve.sh", "w").write(text)
PY
grep -q osslsigncode solve.sh && grep -q 'hash^^' solve.sh && grep -q list.py solve.sh
bash solve.sh
