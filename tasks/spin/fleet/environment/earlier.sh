# The authors' releases 1.0 and 2.0, by the same keys and the same packages wherever they are made:
# the agent's image and the verifier's have to agree on what is in the field.
set -eu
# Of no worth: they sign archives for a bench.
cat >/fixed-keys <<'KEYS'
-----BEGIN PGP PRIVATE KEY BLOCK-----

lFgEZlpkgBYJKwYBBAHaRw8BAQdAQdvunXjtiNZkwyOfb8enuPgoqjHRg/kLYAob
14xToh4AAQCQrZkZno126+Cv7SK9psYr7+urH+WJ9oKz2xG1TyGfNhKRtCVIb2xt
IGFyY2hpdmUgYWxrZSA8YWxrZUBob2xtLmV4YW1wbGU+iJAEExYIADgWIQQS6JDP
4uWh3W2Le/6D9Jp41lTrZAUCZlpkgAIbAwULCQgHAgYVCgkICwIEFgIDAQIeAQIX
gAAKCRCD9Jp41lTrZGWiAQD4rR7fGWxRyOjihbyUDV+DW5G2Pz+vN3t/bCNKxpYV
6AD9EtRjthOLgrbx76O0Ix4LxBCFtG7gisAhupf9ScEFEQU=
=FMtX
-----END PGP PRIVATE KEY BLOCK-----
-----BEGIN PGP PRIVATE KEY BLOCK-----

lFgEZlpkgBYJKwYBBAHaRw8BAQdAjkW8B0ZuMvzU+G2eisCjwVXinbnMqCqC2qPA
6rR0ndcAAP4oYsgnb3115TtQgV0qrLyLZQfiXLn4umj3Ok8dKSqFQA91tCVIb2xt
IGFyY2hpdmUgYnJpcyA8YnJpc0Bob2xtLmV4YW1wbGU+iJAEExYIADgWIQS7MIDC
6S2jJ03g3SScP8xNHfwhHAUCZlpkgAIbAwULCQgHAgYVCgkICwIEFgIDAQIeAQIX
gAAKCRCcP8xNHfwhHHAvAP9aMVnt/jiU1OgCoKGJiJyyDwIa/yc9jVP3uhv6rFCt
lQD8CyjwCPdmWuQpKV+X5tYZkvaW615N4WY3VLPiERNNmgc=
=aht8
-----END PGP PRIVATE KEY BLOCK-----
-----BEGIN PGP PRIVATE KEY BLOCK-----

lFgEZlpkgBYJKwYBBAHaRw8BAQdAlJ4d4ewQ7HV/s5+U1rRDMsZsWWHOk1tZeIkm
JFJ5aEoAAQDhp6APOAldQrDIHntg/yfT/2FAehh6lHGVwAfYNl1EoQ7ftCVIb2xt
IGFyY2hpdmUgYmFzZSA8YmFzZUBob2xtLmV4YW1wbGU+iJAEExYIADgWIQT79NY5
pS7mgIDkgxiPQT1CXQXjxAUCZlpkgAIbAwULCQgHAgYVCgkICwIEFgIDAQIeAQIX
gAAKCRCPQT1CXQXjxDWVAQCoCisC3EsA8Fe+HEG1p/g/+FRjQf4X8+O3l7ASeqXD
uQD9F8JQwii7FR5Fi6FknWEdwI8pYTqanSUn+cjHIb0bTAw=
=4HuK
-----END PGP PRIVATE KEY BLOCK-----
KEYS
cat >/changes <<'CHANGES'
gpgconf --homedir "$work/gpg" --kill all
rm -rf "$work/gpg" "$work/keys"
mkdir -m 700 "$work/gpg" "$work/keys"
gpg --import /fixed-keys
for key in alke bris base; do
	gpg --armor --export-secret-keys "$key@holm.example" >"$work/keys/$key.key"
	gpg --export "$key@holm.example" >"$work/keys/$key.pub"
done
ring 1.0 alke
ring 1.1 alke bris
ring 2.0 bris
CHANGES
export SOURCE_DATE_EPOCH=1780272000
LOCAL_CHANGES=/changes bash /solution/solve.sh
