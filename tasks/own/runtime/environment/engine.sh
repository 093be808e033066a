#!/bin/sh
# The engine QuickJS, of Debian's source and built with fixed flags, and the parser Acorn, ready as on the
# customer's builder, and the engine's source in /app/engine. (tests/image/build.sh makes the same.)
set -eu
work=$(mktemp -d)
version=2025.04.26
sum=ec81da5b3249ed648dbc7df4a1654988910e66a118d9b71cb63534216efcfbbe
apt-get update -q
mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' | sed -n 's/ bookworm$//p' | sort -u | head -n 1)
(cd "$work" && /usr/lib/apt/apt-helper -o APT::Sandbox::User=root download-file \
	"${mirror}pool/main/q/quickjs/quickjs_$version.orig.tar.xz" quickjs.tar.xz "SHA256:$sum")
mkdir "$work/unpacked" "$work/acorn"
tar -xf "$work/quickjs.tar.xz" -C "$work/unpacked"
mv "$work"/unpacked/* "$work/engine"
printf 'make CONFIG_LTO= libquickjs.a qjs qjsc, then strip --strip-debug; gcc %s\n' "$(gcc -dumpfullversion)" \
	> "$work/engine/flags"

ready=$work/ready
mkdir -p "$ready/DEBIAN" "$ready/usr/lib/quickjs" "$ready/usr/include/quickjs" "$ready/usr/bin"
cp -r "$work/engine" "$work/compiled"
make -s -j2 -C "$work/compiled" CONFIG_LTO= libquickjs.a qjs qjsc > /dev/null
strip --strip-debug "$work/compiled/libquickjs.a"
strip "$work/compiled/qjs" "$work/compiled/qjsc"
cp "$work/compiled/libquickjs.a" "$ready/usr/lib/quickjs/"
for header in quickjs.h quickjs-libc.h cutils.h list.h libregexp.h libregexp-opcode.h libunicode.h dtoa.h; do
	cp "$work/compiled/$header" "$ready/usr/include/quickjs/"
done
cp "$work/compiled/qjs" "$work/compiled/qjsc" "$ready/usr/bin/"
(cd "$work/acorn" && apt-get -q -o APT::Sandbox::User=root download node-acorn && dpkg-deb -x node-acorn_*.deb .)
cp "$work/acorn/usr/share/nodejs/acorn/dist/acorn.js" "$ready/usr/lib/quickjs/acorn.js"
cat > "$ready/DEBIAN/control" <<CONTROL
Package: quickjs-ready
Version: $version
Architecture: amd64
Maintainer: nobody <nobody@localhost>
Description: QuickJS as a library, with Acorn
CONTROL
dpkg-deb --root-owner-group --build "$ready" "$work/quickjs-ready.deb" > /dev/null
dpkg -i "$work/quickjs-ready.deb" > /dev/null
mv "$work/engine" /app/engine
rm -rf "$work"
