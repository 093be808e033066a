# Words for mmdebstrap, added to "$@": nothing of documentation and translations but the licences, and
# no map of the kernel's symbols.

for part in doc man info locale lintian; do
	set -- "$@" --dpkgopt="path-exclude=/usr/share/$part/*"
done
set -- "$@" --dpkgopt='path-include=/usr/share/doc/*/copyright' \
	--dpkgopt='path-exclude=/boot/System.map-*'
