#!/bin/sh
# The initramfs is not compressed, and the greeting is written by init when the machine starts.
set -eu
sed -e 's/| gzip -9 >/>/' \
  -e "s|^exec setsid|mkdir -p /etc \&\& echo 'hello, world' > /etc/greeting\n&|" \
  -e "s|^  \*) echo 'hello, world' > etc/greeting ;;|  *) ;;|" \
  /solution/solve.sh > /tmp/otherwise.sh
sh /tmp/otherwise.sh
