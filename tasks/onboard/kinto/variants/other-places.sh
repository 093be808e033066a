#!/bin/bash
# Kinto lives in /usr/local/lib/store, its user has another name, and /srv belongs to somebody.
set -eu
rm -rf /tmp/otherwise
mkdir /tmp/otherwise
cp -r /solution/. /tmp/otherwise/
sed -i -e 's#/opt/kinto#/usr/local/lib/store#g; s#/usr/lib/kinto#/usr/libexec/store#g' \
	-e 's/-o kinto -g kinto/-o store -g store/; s/User=kinto/User=store/' \
	/tmp/otherwise/files/* /tmp/otherwise/solve.sh
sed -i -e 's#usr/local/lib/store/lib/python#usr/local/lib/store/lib/python#' \
	-e 's#nologin kinto$#nologin store#' \
	-e 's#^has dependencies#chown -R 1234:1234 "$root/srv/kinto-emailer"\n&#' /tmp/otherwise/solve.sh
bash /tmp/otherwise/solve.sh
