#!/bin/bash
# A 1.0 goes through 2.0: both releases are fetched before anything is installed, and installed one after the other.
set -eu
cat >/tmp/changes <<'CHANGES'
python3 - "$(upgrade 1.1)" "$(upgrade 2.1)" "$(upgrade 3.0)" <<'EDIT'
import sys

FETCH = r'''
	if [ "$(release)" = 1.0 ]; then
		at=/first
		mkdir -p $state/first/sources.d $state/first/archives/partial
		cp -a /var/lib/apt/lists $state/first/
		sed 's/^Suites: alke$/Suites: bris/' /etc/apt/sources.list.d/holm.sources >$state/first/sources.d/holm.sources
		next update --error-on=any || give_up "the archive of 2.0 is not to be had"
		next --download-only dist-upgrade || give_up "2.0 cannot be fetched"
		at=
	fi
'''
FIRST = r'''
	at=
	if [ -d $state/first ] && [ ! -e $state/first/done ]; then
		dpkg --force-confdef --force-confold --configure -a 9>&-
		at=/first
		next --no-download -f install && next --no-download dist-upgrade || return 1
		at=
		sync
		: >$state/first/done
	fi
'''
for path in sys.argv[1:]:
    text = open(path).read()

    def change(old, new):
        global text
        assert text.count(old) == 1, old
        text = text.replace(old, new)

    change("SourceParts=$state/sources.d", "SourceParts=$state$at/sources.d")
    change("Lists=$state/lists", "Lists=$state$at/lists")
    change("		-o Dir::State::Lists=$state$at/lists -o Dir::Cache::Archives=$state/archives", "		-o Dir::State::Lists=$state$at/lists -o Dir::Cache::Archives=$state$at/archives")
    change("resume=${1:-}\n", "resume=${1:-}\nat=\n")
    change("	next --download-only dist-upgrade || give_up \"3.0 cannot be fetched\"\n", "	next --download-only dist-upgrade || give_up \"3.0 cannot be fetched\"" + FETCH)
    change("go_forward() {\n", "go_forward() {" + FIRST)
    open(path, "w").write(text)
EDIT
CHANGES
LOCAL_CHANGES=/tmp/changes bash /solution/solve.sh
