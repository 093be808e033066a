# Programs of the machine that builds, for a small system in $root, at the same paths.

# with_libraries PROGRAM...: copied with all that they are linked to
with_libraries() {
	local program library
	for program; do
		rm -f "$root$program"
		install -D "$program" "$root$program"
		for library in $(ldd "$program" | grep -o '/[^ ]*'); do
			[ -e "$root$library" ] || install -D "$library" "$root$library"
		done
	done
}
