#!/bin/bash
# A 1.0 goes through 2.0: the same upgrade twice, with a note of its own that says how far it is to go.
set -eu
cat >/tmp/changes <<'CHANGES'
python3 - "$(upgrade 1.1)" "$(upgrade 2.1)" "$(upgrade 3.0)" <<'EDIT'
import sys

for path in sys.argv[1:]:
    text = open(path).read()

    def change(old, new):
        global text
        assert text.count(old) == 1, old
        text = text.replace(old, new)

    change("	sed 's/^Suites: \\(alke\\|bris\\)$/Suites: dorg/'", "	sed 's/^Suites: bris$/Suites: dorg/; s/^Suites: alke$/Suites: bris/'")
    change("	rm -rf $state/*\n	mkdir -p $state/sources.d $state/archives/partial\n", "	rm -rf $state/sources.d $state/lists $state/archives $state/committed\n	mkdir -p $state/sources.d $state/archives/partial\n	: >$state/further\n")
    change("	sync\n	rm -rf $state\n	sync\n	say \"this is a Holm", "	sync\n	if [ \"$(release)\" = 2.0 ] && [ -e $state/further ]; then\n		rm -rf $state/committed $state/sources.d $state/archives\n	else\n		rm -rf $state\n	fi\n	sync\n	say \"this is a Holm")
    change("		[ \"$(release)\" = 2.0 ] && [ \"$resume\" != --resume ] || exit 0\n", "		[ -e $state/further ] || [ \"$(release)\" = 2.0 -a \"$resume\" != --resume ] || exit 0\n")
    change("	[ \"$resume\" = --resume ] || rm -rf $state\n", "	[ \"$resume\" = --resume ] || [ \"$(release)\" = 2.0 -a -e $state/further ] || rm -rf $state\n")
    open(path, "w").write(text)
EDIT
CHANGES
LOCAL_CHANGES=/tmp/changes bash /solution/solve.sh
