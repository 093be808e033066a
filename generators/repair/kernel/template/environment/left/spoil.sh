#!/bin/sh
# The source of a kernel that is as ordered, and what became of it.
set -eu
cd "$(dirname "$0")"
from-tasks-lib swap.sh

# ---- as it was: without what only its author's trials leave out ------------------------------
perl -ni -e '
    BEGIN { $kept = 1; $inside = 0 }
    if (/^#if(n?)def WITHOUT_/) { die "$ARGV: one within another\n" if $inside; $inside = 1; $kept = $1; next }
    if ($inside && /^#if/) { die "$ARGV: one within another\n" }
    if ($inside && /^#else/) { $kept = !$kept; next }
    if ($inside && /^#endif/) { $inside = 0; $kept = 1; next }
    next if !$kept || /^#include "without\.h"$/;
    print;
' $(grep -rlE 'WITHOUT_|without\.h' --include='*.[chS]' .)
rm include/without.h proc/refused.c
perl -0777 -i -pe '
    my $cuts = s/^bool syscall_refused\(u64 n\);\n+//m;
    $cuts += s/ \|\| syscall_refused\(n\)//;
    $cuts == 2 or die "syscall.c is not what it was\n";
' proc/syscall.c

# ---- what became of it -----------------------------------------------------------------------
# @parts broken sources

rm spoil.sh
# All at one time: no date says what was changed last.
find . -exec touch -h -d '2025-03-01 12:00:00' {} +
