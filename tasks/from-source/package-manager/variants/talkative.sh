#!/bin/bash
# lade tells on standard output what it does, and gives its reasons in other words and over many lines.
set -eu
cat >/tmp/changes <<'CHANGES'
sed -i 's/^    fputs("lade: ", stderr);$/    fputs("\\nThis cannot be done.\\n  What was wanted is not possible, for:\\n    ", stderr);/' lade/util.c
sed -i 's/^    load_installed();$/&\n    if (changes)\n        printf("lade %s: beginning, %d packages are here\\n\\n", word, installed_n), fflush(stdout);/' lade/main.c
sed -i 's/not all is as it was installed/these files are not what they were when their packages came\\nSee lade files NAME/' lade/main.c
CHANGES
LOCAL_CHANGES=/tmp/changes bash /solution/solve.sh
