# Sourced: what lies in /srv/mosquitto now, copied where it is built; only what has changed is built.
tree=/var/cache/mosquitto-build
export LC_ALL=C MAKEFLAGS=WITH_DOCS=no
mkdir -p "$tree"
changed=$(rsync -rlpc --delete --out-format='%n' --exclude='*.o' --exclude='*.so' --exclude='*.so.1' \
	--exclude=src/mosquitto --exclude=apps/mosquitto_passwd/mosquitto_passwd /srv/mosquitto/ "$tree/")
# The Makefiles know few of the headers. Tests leave files behind, which are of no meaning here.
if printf '%s\n' "$changed" | grep -qE '(\.h|\.mk|\.syms|Makefile)$'; then
	find "$tree" \( -name '*.o' -o -name '*.so' \) -delete
fi
# The console is slow: what compilers say is shown where they fail.
in_tree() {
	make -s -C "$tree/$1" ${2:-} >"$tree.log" 2>&1 || {
		tail -c 2000 "$tree.log" >&2
		return 1
	}
}
