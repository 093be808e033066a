#!/bin/sh
. /usr/lib/gw/common
printf 'Content-Type: text/plain\r\n\r\n'
echo "name=$(hostname)"
read -r up rest </proc/uptime
echo "uptime=${up%.*}"
echo "wan=$(cat /run/uplink 2>/dev/null || echo -)"
echo "refused=$(nft list counter ip gw refused | awk '$1 == "packets" { print $2 }')"
pidof vakt >/dev/null && echo vakt=up || echo vakt=down
awk -v now="$(date +%s)" '$1 > now { print "lease=" $2 " " $3 " " $1 - now }' /data/leases 2>/dev/null
