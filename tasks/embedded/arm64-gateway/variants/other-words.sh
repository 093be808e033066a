#!/bin/bash
# A page server of our own in C that speaks HTTP/1.1 with CRLF, refusals on the local side, other words and orders, all that was noted.
set -euo pipefail
cat >/tmp/page.c <<'SOURCE'
#include <signal.h>
#include <netinet/in.h>
#include <unistd.h>
#include <sys/socket.h>
#include <string.h>

static void serve(int peer)
{
	char text[4096];
	int have = 0, got;

	alarm(60);
	while (have < (int)sizeof text - 1 && (got = read(peer, text + have, sizeof text - 1 - have)) > 0) {
		text[have += got] = 0;
		if (strstr(text, "\r\n\r\n") || strstr(text, "\n\n")) {
			dup2(peer, 1);
			execl("/bin/sh", "sh", "/srv/page", (char *)0);
		}
	}
	_exit(0);
}

int main(void)
{
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(80) };
	int one = 1, wire = socket(AF_INET, SOCK_STREAM, 0), peer;

	signal(SIGCHLD, SIG_IGN);
	setsockopt(wire, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(wire, (struct sockaddr *)&own, sizeof own) || listen(wire, 128))
		return 1;
	while ((peer = accept(wire, 0, 0)) >= 0) {
		if (fork() == 0) {
			close(wire);
			serve(peer);
		}
		close(peer);
	}
	return 1;
}
SOURCE
cat >/tmp/changes <<'CHANGES'
aarch64-linux-gnu-gcc -O2 -static -o "$root/usr/sbin/seite" /tmp/page.c
aarch64-linux-gnu-strip "$root/usr/sbin/seite"
{
	echo '. /usr/lib/gw/common'
	echo "printf 'HTTP/1.1 200 Gut\r\nServer: seite\r\nContent-Type: text/plain; charset=us-ascii\r\nConnection: close\r\n\r\n'"
	echo '{'
	sed '1,/^printf/d' "$root/srv/cgi-bin/index.cgi" | tac
	echo 'echo "note=Pumpwerk"'
	echo "} | sed 's/\$/\r/'"
} >"$root/srv/page"
# The order is the other way round, but what is read has to be read first.
sed -i '/^read -r up/d; s/^echo "uptime=.*/read -r up rest <\/proc\/uptime; echo "uptime=${up%.*}"/' "$root/srv/page"
sed -i 's/^page) .*/page) exec seite ;;/' "$gw/run"
printf '#!/bin/sh\npid() { set -- $(pidof "$1"); echo "${1:--}"; }\nfor one in vakt:vakt uplink:udhcpc page:seite dns:dnsmasq dhcp:dnsmasq; do\n\techo "${one%%:*}   $(pid "${one##*:}")"\ndone\n' >"$root/usr/sbin/services"
sed -i 's/ | tail -n 50//' "$root/usr/sbin/refused"
sed -i -e 's/print "line " \(.*\) } exit 1/print "so nicht:"; print "line " \1; print "(die Zeile ist falsch)" } exit 1/' "$root/usr/sbin/site-check"
sed -i 's/^\texit 0$/\techo "in Kraft"; exit 0/' "$root/usr/sbin/site"
sed -i 's|^\t\tiifname "lan" icmp type echo-request accept|&\n\t\tiifname "lan" meta l4proto tcp reject with tcp reset\n\t\tiifname "lan" meta l4proto udp reject|' "$gw/enforce"
echo 'Havstad Pumpelag: nur fuer Befugte' >"$root/etc/issue"
ln -sf ../run/motd "$root/etc/motd"
CHANGES
cp -r /solution /tmp/honest
sed -i 's/nft_fib_inet nft_objref/& nft_reject nft_reject_ipv4/' /tmp/honest/solve.sh
LOCAL_CHANGES=/tmp/changes bash /tmp/honest/solve.sh
