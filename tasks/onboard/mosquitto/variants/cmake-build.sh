#!/bin/bash
# What runs is built by CMake, in a folder of its own; tests by make.
set -eu
rm -rf /tmp/otherwise
cp -r /solution /tmp/otherwise
cd /tmp/otherwise
sed -i -e 's#/var/tmp/mosquitto-system.tar#/var/tmp/mosquitto-cmake-system.tar#' -e 's/libcjson-dev,rsync/&,cmake/' solve.sh
cat >files/project-build <<'BUILD'
#!/bin/sh
# The broker by CMake, its plug-in by make.
set -eu
. /usr/lib/mosquitto-project/build.sh
made=/var/cache/mosquitto-cmake
cmake -S "$tree" -B "$made" -DDOCUMENTATION=OFF -DWITH_CLIENTS=OFF -DWITH_LIB_CPP=OFF -DCMAKE_BUILD_TYPE=Release >&2
env -u MAKEFLAGS make -s -C "$made" mosquitto mosquitto_passwd >&2
rm -f "$tree/plugins/holm-seal/mosquitto_holm_seal.so"
in_tree plugins/holm-seal
replace() { install -m 755 "$1" "$2.new" && mv "$2.new" "$2"; }
replace "$made/src/mosquitto" /usr/local/sbin/mosquitto
replace "$made/apps/mosquitto_passwd/mosquitto_passwd" /usr/local/bin/mosquitto_passwd
replace "$tree/plugins/holm-seal/mosquitto_holm_seal.so" /usr/local/lib/mosquitto/mosquitto_holm_seal.so
sync
[ "${1:-}" != only ] || exit 0
systemctl restart mosquitto.service
for _ in $(seq 240); do
	if python3 /usr/lib/mosquitto-project/answers.py; then exit 0; fi
	sleep 1
done
exit 1
BUILD
bash solve.sh
