#!/bin/sh
# Other names for all interfaces, tables and files of its own.
set -eu
bash /solution/solve.sh
sed -i 's/"lan-" + key/"v." + key/; s/"wan" if/"outer" if/; s/inet router/inet site-filter/g; s/"inet", "router"/"inet", "site-filter"/g; s|/run/router|/run/state-of-it|g; s|/data/leases|/data/dhcp.db|; s|"/data/state", "/data/good"|"/data/who.json", "/data/last.json"|' /app/out/site/start
grep -q 'site-filter' /app/out/site/start
