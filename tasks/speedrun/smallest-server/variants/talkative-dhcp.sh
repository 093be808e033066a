#!/bin/bash
# Says more by DHCP, tries its address by ARP and announces it; it asks again late, and from its server alone.
set -eu
made=$(mktemp -d)
cp -r /solution/. "$made"
cd "$made"
python3 - <<'PY'
text = open("server.c").read()
old = "	*o = 255;\n	said_at = now;\n"
assert text.count(old) == 1
text = text.replace(old, """	static const u8 more[] = {61, 7, 1, 0, 0, 0, 0, 0, 0, 12, 3, 'b', 'o', 'x', 55, 3, 1, 3, 51, 57, 2, 5, 0xdc};
	o = copy(o, more, sizeof more);
	copy(o - 20, mac, 6);
	if (address) {
		copy(out.to, server_mac, 6);
		out.ip.target = server;
	}
""" + old)
old = "		address = m->yours;\n"
assert text.count(old) == 1
text = text.replace(old, """		copy(server_mac, f->from, 6);
		if (!address)
			for (u32 n = 0; n < 2; n++) {
				static const u8 form[] = {0, 1, 8, 0, 6, 4, 0, 1};
				fill(&out, 0, 60);
				fill(out.to, 0xff, 6);
				out.kind = ARP;
				copy(out.arp.form, form, 8);
				copy(out.arp.mac, mac, 6);
				out.arp.target = m->yours;
				out.arp.address = n ? m->yours : 0;
				send(&out, 60);
			}
""" + old)
text = text.replace("static u8 saying;", "static u8 server_mac[6];\nstatic u8 saying;", 1)
assert text.count("now - asked_at > lease / 2") == 1
text = text.replace("now - asked_at > lease / 2", "now - asked_at > lease * 5 / 8")
text = text.replace("if (now - said_at < 7)", "if (now - said_at < 11)")
open("server.c", "w").write(text)
PY
bash solve.sh
