# Debian's source packages beside the binary ones in what apt knows, for the mirror of the machine that
# builds. Clean up with `rm -rf /etc/apt/sources.list.d/src-* /var/lib/apt/lists/*`.

# deb822 files name their types, one-line files start with them.
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    [ -f "$list" ] || continue
    case $list in
    *.sources) sed 's/^Types:.*/Types: deb-src/' "$list" > "/etc/apt/sources.list.d/src-$(basename "$list")" ;;
    *.list) sed -n 's/^deb /deb-src /p' "$list" > "/etc/apt/sources.list.d/src-$(basename "$list")" ;;
    esac
done
apt-get update -q
