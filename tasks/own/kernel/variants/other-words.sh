#!/bin/bash
# Other words in all messages that the order leaves open, and more of them.
set -eu
work=$(mktemp -d)
cp -r /solution/. "$work/"
cd "$work"
sed -i 's/"kernel: hello %s\\n"/"[0.000000] >>> %s <<< is what the command line wants me to say\\n"/' src/arch/start.c
sed -i 's/"init exited %d (signal %d)\\n"/"init exited %d, killed by %d: good night\\n"/; s/"init exited %d\\n"/"init exited %d: good night\\n"/' src/proc/exit.c
sed -i 's/"clock: %s, tsc at %lu kHz\\n"/"I keep time by the %s; the processor counts %lu kHz.\\nAnd another line.\\n"/' src/arch/clock.c
grep -q '>>> %s' src/arch/start.c
grep -q 'good night' src/proc/exit.c
bash solve.sh
