# Debian's source packages beside the binary ones in what apt knows, for the mirror of the machine that
# builds. `moved WHAT WHY` ends the build, and says what to do about a mirror that has moved on: compare
# with `sha256sum -c SHA256SUMS || moved …`. Clean up with
# `rm -rf /etc/apt/sources.list.d/src-* /var/lib/apt/lists/*`.

moved() {
    echo "The Debian mirror no longer has $1 as it was when this task was written ($2)." >&2
    echo "Point the build at a mirror or snapshot of Debian 12 that does; see SHA256SUMS." >&2
    exit 1
}

# deb822 files name their types, one-line files start with them.
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    [ -f "$list" ] || continue
    case $list in
    *.sources) sed 's/^Types:.*/Types: deb-src/' "$list" > "/etc/apt/sources.list.d/src-$(basename "$list")" ;;
    *.list) sed -n 's/^deb /deb-src /p' "$list" > "/etc/apt/sources.list.d/src-$(basename "$list")" ;;
    esac
done
apt-get update -q
