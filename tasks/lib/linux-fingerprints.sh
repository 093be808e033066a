# Makes $bench/$table, fingerprints of Linux's own source, by $work/source_fingerprints.py, which the
# script has written out before (`from-bench source_fingerprints.py`). Wants $bench, $work, $table and
# $paths, the parts of Linux that count; $words, a file that takes its messages, may be empty. The
# source is Debian's linux-source; python3 and xz-utils have to be there.

mkdir -p "$work/linux" "$work/sources"
source=$(apt-cache depends linux-source | sed -n 's/.*Depends: \(linux-source-[0-9].*\)/\1/p')
(cd "$work/sources" && apt-get -q -o APT::Sandbox::User=root download "$source")
dpkg-deb --fsys-tarfile "$work/sources/$source"_*.deb |
	tar -xOf - --wildcards '*/linux-source-*.tar.xz' > "$work/linux.tar.xz"
top=$(tar -tJf "$work/linux.tar.xz" 2>/dev/null | head -n 1 | cut -d/ -f1) || true
tar -xJf "$work/linux.tar.xz" -C "$work/linux" --strip-components=1 $(for path in $paths; do echo "$top/$path"; done)
python3 "$work/source_fingerprints.py" "$work/linux" "$bench/$table" $words
