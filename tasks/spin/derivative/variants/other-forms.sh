#!/bin/bash
# apt-ftparchive's archives with more sums and forms, packages by zstd and gzip, armoured keyrings below /etc/apt, a sources.list of one-line entries, an initrd of two parts, a login after half a minute, a disk of 1024 MiB.
set -eu
work=$(mktemp -d)
cp -r /solution/. "$work"
cd "$work"
python3 - <<'EDIT'
text = open("solve.sh").read()


def change(old, new):
    global text
    assert text.count(old) == 1, old
    text = text.replace(old, new)


change('python3 "$here/publish.py"', 'bash "$here/publish.sh"')
change("dpkg-deb --root-owner-group -Zxz", "dpkg-deb --root-owner-group -Z${kinds[$((number++ % 4))]}")
change('mkdir "$work/debs"', 'kinds=(zstd gzip xz none) number=0\nmkdir "$work/debs"')
change("/usr/share/keyrings key", "/etc/apt/keyrings key")
change('for key; do cat "$work/keys/$key.pub"; done >"$folder/holm-archive.gpg"', 'gpg --armor --export "${@/%/@holm.example}" >"$folder/holm-archive.asc"')
change('cat "$work/keys/base.pub" >"$folder/holm-base.gpg"', 'gpg --armor --export base@holm.example >"$folder/holm-base.asc"')
change("truncate -s 512M", "truncate -s 1024M")
change("mke2fs -q -t ext4 -d", "mke2fs -q -t ext4 -L holm -m 1 -O ^metadata_csum,^64bit -I 128 -d")
change("""(cd "$initrd" && find . | cpio --quiet -o -H newc -R 0:0 | gzip -6 >"$work/initrd.gz")""",
       """(
	cd "$initrd"
	find . -path './lib*' | cpio --quiet -o -H newc -R 0:0
	find . ! -path './lib*' | cpio --quiet -o -H newc -R 0:0 | zstd -q -19
) >"$work/initrd.gz\"""")
open("solve.sh", "w").write(text)
EDIT
cat >publish.sh <<'PUBLISH'
#!/bin/bash
# publish.sh SUITE VERSION ORIGIN FOLDER HOME KEY
set -euo pipefail
cd "$4"
dists=dists/$1
index=$dists/main/binary-amd64/Packages
mkdir -p "${index%/*}"
apt-ftparchive packages "pool/$1" >"$index"
gzip -k "$index"
xz -k "$index"
mkdir "${index%/*}/by-hash" "${index%/*}/by-hash/SHA256"
for file in "$index"*; do
	cp "$file" "${index%/*}/by-hash/SHA256/$(sha256sum "$file" | cut -d ' ' -f 1)"
done
set -- "$@" -o "APT::FTPArchive::Release::Origin=$3" -o "APT::FTPArchive::Release::Label=$3 at sea" \
	-o "APT::FTPArchive::Release::Suite=$1" -o "APT::FTPArchive::Release::Codename=$1" \
	-o "APT::FTPArchive::Release::Version=$2" -o APT::FTPArchive::Release::Components=main \
	-o APT::FTPArchive::Release::Architectures=amd64 -o "APT::FTPArchive::Release::Description=Holm, $1"
apt-ftparchive "${@:7}" release "$dists" >/tmp/release.$$
mv /tmp/release.$$ "$dists/Release"
sign=(gpg --homedir "$5" --batch -u "$6" --digest-algo SHA256)
"${sign[@]}" --clearsign -o "$dists/InRelease" "$dists/Release"
"${sign[@]}" --armor --detach-sign -o "$dists/Release.gpg" "$dists/Release"
PUBLISH
for v in 1.0 2.0; do
	suite=alke
	[ $v = 1.0 ] || suite=bris
	folder=packages/holm-base-$v
	rm -r $folder/etc/apt/sources.list.d
	{
		echo '# Where the two archives are: /etc/holm/mirrors.'
		echo "deb [arch=amd64 signed-by=/etc/apt/keyrings/holm-archive.asc] mirror+file:/etc/holm/mirrors/holm $suite main"
		echo 'deb [arch=amd64 signed-by=/etc/apt/keyrings/holm-base.asc] mirror+file:/etc/holm/mirrors/base bookworm main'
	} >$folder/etc/apt/sources.list
	late=$folder/usr/lib/systemd/system/serial-getty@.service.d
	mkdir -p $late
	printf '[Service]\nExecStartPre=/bin/sleep 30\n' >$late/late.conf
done
sed -i "s|sed 's/alke/bris/' /etc/apt/sources.list.d/holm.sources >.*|sed 's/ alke / bris /' /etc/apt/sources.list >\$state/sources.d/holm.list|" packages/holm-upgrade
grep -q 'sources.d/holm.list' packages/holm-upgrade
bash "$work/solve.sh"
