#!/bin/bash
# Programs have turns of two milliseconds, and the objects are linked in the reverse order.
set -eu
work=$(mktemp -d)
cp -r /solution/. "$work/"
cd "$work"
sed -i 's/#define SLICE 10000000UL/#define SLICE 2000000UL/' src/proc/sched.c
grep -q 'SLICE 2000000UL' src/proc/sched.c
sed -i 's/^OBJECTS := .*/REVERSED = $(if $1,$(call REVERSED,$(wordlist 2,$(words $1),$1)) $(firstword $1))\n&\nLINKED := $(call REVERSED,$(OBJECTS))/; s/-o $@ $(OBJECTS)/-o $@ $(LINKED)/' src/Makefile
grep -q LINKED src/Makefile
bash solve.sh
