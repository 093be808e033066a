#!/bin/bash
# Keys stand in files of their own, which the configuration names; the user is another one.
set -eu
rm -rf /tmp/otherwise
cp -r /solution /tmp/otherwise
cd /tmp/otherwise
sed -i -e 's/-o alertmanager -g alertmanager/-o alerts -g alerts/' -e 's/^User=alertmanager/User=alerts/' \
	-e 's/owner: str = "alertmanager"/owner: str = "alerts"/' files/*
sed -i 's#--home-dir /nonexistent --shell /usr/sbin/nologin alertmanager#--home-dir /nonexistent --shell /usr/sbin/nologin alerts#' solve.sh
sed -i -e 's/"client_secret": told\["PAGER_CLIENT_SECRET"\]/"client_secret_file": "pager.key"/' \
	-e 's/"password": told\["TICKET_PASSWORD"\]/"password_file": "ticket.key"/' \
	-e 's/"credentials": told\["AUDIT_TOKEN"\]/"credentials_file": "audit.key"/' \
	-e 's/"auth_password": told\["SMTP_PASSWORD"\]/"auth_password_file": "smtp.key"/' \
	-e 's/^    write(HERE \/ "signing.key".*/&\n    for name, key in (("pager", "PAGER_CLIENT_SECRET"), ("ticket", "TICKET_PASSWORD"), ("audit", "AUDIT_TOKEN"), ("smtp", "SMTP_PASSWORD")):\n        write(HERE \/ f"{name}.key", told[key])/' \
	files/configure.py
bash solve.sh
