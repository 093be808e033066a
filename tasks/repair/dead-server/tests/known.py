"""What stood in the server's lists when its disk died: who and what has rights on it.

Numbers that Debian's packages draw when they are installed stand as `*`.
"""

# name, uid, gid, home, shell
ACCOUNTS = """\
root 0 0 /root /bin/bash
daemon 1 1 /usr/sbin /usr/sbin/nologin
bin 2 2 /bin /usr/sbin/nologin
sys 3 3 /dev /usr/sbin/nologin
sync 4 65534 /bin /bin/sync
games 5 60 /usr/games /usr/sbin/nologin
man 6 12 /var/cache/man /usr/sbin/nologin
lp 7 7 /var/spool/lpd /usr/sbin/nologin
mail 8 8 /var/mail /usr/sbin/nologin
news 9 9 /var/spool/news /usr/sbin/nologin
uucp 10 10 /var/spool/uucp /usr/sbin/nologin
proxy 13 13 /bin /usr/sbin/nologin
www-data 33 33 /var/www /usr/sbin/nologin
backup 34 34 /var/backups /usr/sbin/nologin
list 38 38 /var/list /usr/sbin/nologin
irc 39 39 /run/ircd /usr/sbin/nologin
_apt 42 65534 /nonexistent /usr/sbin/nologin
nobody 65534 65534 /nonexistent /usr/sbin/nologin
systemd-network * * / /usr/sbin/nologin
messagebus * * /nonexistent /usr/sbin/nologin
sshd * 65534 /run/sshd /usr/sbin/nologin
tally 990 990 /srv/tally /usr/sbin/nologin
ingrid 1000 1000 /home/ingrid /bin/bash
piet 1001 1001 /home/piet /bin/bash
"""
# name, gid, members
GROUPS = """\
root 0 -
daemon 1 -
bin 2 -
sys 3 -
adm 4 ingrid,piet
tty 5 -
disk 6 -
lp 7 -
mail 8 -
news 9 -
uucp 10 -
man 12 -
proxy 13 -
kmem 15 -
dialout 20 -
fax 21 -
voice 22 -
cdrom 24 -
floppy 25 -
tape 26 -
sudo 27 ingrid
audio 29 -
dip 30 -
www-data 33 -
backup 34 -
operator 37 -
list 38 -
irc 39 -
src 40 -
shadow 42 -
utmp 43 -
video 44 -
sasl 45 -
plugdev 46 -
staff 50 -
games 60 -
users 100 -
nogroup 65534 -
systemd-journal * -
systemd-network * -
_ssh * -
input * -
sgx * -
kvm * -
render * -
messagebus * -
tally 990 -
ingrid 1000 -
piet 1001 -
"""
# What PAM reads of each service, without comments.
PAM = {
    "chfn": """
auth sufficient pam_rootok.so
@include common-auth
@include common-account
@include common-session
""",
    "chpasswd": """
@include common-password
""",
    "chsh": """
auth required pam_shells.so
auth sufficient pam_rootok.so
@include common-auth
@include common-account
@include common-session
""",
    "common-account": """
account [success=1 new_authtok_reqd=done default=ignore] pam_unix.so
account requisite pam_deny.so
account required pam_permit.so
""",
    "common-auth": """
auth [success=1 default=ignore] pam_unix.so nullok
auth requisite pam_deny.so
auth required pam_permit.so
""",
    "common-password": """
password [success=1 default=ignore] pam_unix.so obscure yescrypt
password requisite pam_deny.so
password required pam_permit.so
""",
    "common-session": """
session [default=1] pam_permit.so
session requisite pam_deny.so
session required pam_permit.so
session required pam_unix.so
""",
    "common-session-noninteractive": """
session [default=1] pam_permit.so
session requisite pam_deny.so
session required pam_permit.so
session required pam_unix.so
""",
    "login": """
auth optional pam_faildelay.so delay=3000000
auth requisite pam_nologin.so
session [success=ok ignore=ignore module_unknown=ignore default=bad] pam_selinux.so close
session required pam_loginuid.so
session optional pam_motd.so motd=/run/motd.dynamic
session optional pam_motd.so noupdate
session [success=ok ignore=ignore module_unknown=ignore default=bad] pam_selinux.so open
session required pam_env.so readenv=1
session required pam_env.so readenv=1 envfile=/etc/default/locale
@include common-auth
auth optional pam_group.so
session required pam_limits.so
session optional pam_lastlog.so
session optional pam_mail.so standard
session optional pam_keyinit.so force revoke
@include common-account
@include common-session
@include common-password
""",
    "newusers": """
@include common-password
""",
    "other": """
@include common-auth
@include common-account
@include common-password
@include common-session
""",
    "passwd": """
@include common-password
""",
    "runuser": """
auth sufficient pam_rootok.so
session optional pam_keyinit.so revoke
session required pam_limits.so
session required pam_unix.so
""",
    "runuser-l": """
auth include runuser
session optional pam_keyinit.so force revoke
-session optional pam_systemd.so
session include runuser
""",
    "sshd": """
@include common-auth
account required pam_nologin.so
@include common-account
session [success=ok ignore=ignore module_unknown=ignore default=bad] pam_selinux.so close
session required pam_loginuid.so
session optional pam_keyinit.so force revoke
@include common-session
session optional pam_motd.so motd=/run/motd.dynamic
session optional pam_motd.so noupdate
session optional pam_mail.so standard noenv
session required pam_limits.so
session required pam_env.so
session required pam_env.so user_readenv=1 envfile=/etc/default/locale
session [success=ok ignore=ignore module_unknown=ignore default=bad] pam_selinux.so open
@include common-password
""",
    "su": """
auth sufficient pam_rootok.so
session required pam_env.so readenv=1
session required pam_env.so readenv=1 envfile=/etc/default/locale
session optional pam_mail.so nopen
session required pam_limits.so
@include common-auth
@include common-account
@include common-session
""",
    "su-l": """
auth include su
account include su
password include su
session optional pam_keyinit.so force revoke
session include su
""",
    "sudo": """
session required pam_limits.so
@include common-auth
@include common-account
@include common-session-noninteractive
""",
    "sudo-i": """
session required pam_limits.so
@include common-auth
@include common-account
@include common-session
""",
}
# Every package but the kernel's own, whose name has a version in it.
PACKAGES = """
adduser apt base-files base-passwd bash bsdutils coreutils cpio dash dbus dbus-bin dbus-daemon
dbus-session-bus-common dbus-system-bus-common debconf debian-archive-keyring debianutils
diffutils dmsetup dpkg e2fsprogs findutils gcc-12-base gettext-base gpgv grep grub-common grub-pc
grub-pc-bin grub2-common gzip hostname init-system-helpers initramfs-tools initramfs-tools-core
iproute2 klibc-utils kmod libacl1 libapparmor1 libapt-pkg6.0 libargon2-1 libattr1 libaudit-common
libaudit1 libblkid1 libbpf1 libbrotli1 libbsd0 libbz2-1.0 libc-bin libc6 libcap-ng0 libcap2
libcap2-bin libcbor0.8 libcom-err2 libcrypt1 libcryptsetup12 libdb5.3 libdbus-1-3
libdebconfclient0 libdevmapper1.02.1 libedit2 libefiboot1 libefivar1 libelf1 libexpat1 libext2fs2
libfdisk1 libffi8 libfido2-1 libfile-find-rule-perl libfreetype6 libfuse2 libgcc-s1 libgcrypt20
libgdbm-compat4 libgdbm6 libgmp10 libgnutls30 libgpg-error0 libgssapi-krb5-2 libhogweed6 libidn2-0
libip4tc2 libjansson4 libjson-c5 libk5crypto3 libkeyutils1 libklibc libkmod2 libkrb5-3
libkrb5support0 liblz4-1 liblzma5 libmd0 libmnl0 libmount1 libncursesw6 libnettle8 libnftables1
libnftnl11 libnsl2 libnumber-compare-perl libp11-kit0 libpam-modules libpam-modules-bin
libpam-runtime libpam0g libpcre2-8-0 libperl5.36 libpng16-16 libpopt0 libproc2-0
libpython3.11-minimal libseccomp2 libselinux1 libsemanage-common libsemanage2 libsepol2
libsmartcols1 libss2 libssl3 libstdc++6 libsystemd-shared libsystemd0 libtasn1-6 libtext-glob-perl
libtinfo6 libtirpc-common libtirpc3 libudev1 libunistring2 libuuid1 libwrap0 libxtables12
libxxhash0 libzstd1 linux-base linux-image-cloud-amd64 login logrotate logsave mawk mount nano
ncurses-base ncurses-bin nftables openssh-client openssh-server openssh-sftp-server passwd perl
perl-base perl-modules-5.36 procps python3-minimal python3.11-minimal runit-helper sed
sensible-utils sudo systemd systemd-sysv sysvinit-utils tallyd tar tzdata ucf udev usrmerge
util-linux util-linux-extra zlib1g zstd
"""

# path: mode, owner, group
SET_ID = {
    "/usr/bin/chage": (0o2755, 0, "shadow"),
    "/usr/bin/chfn": (0o4755, 0, "root"),
    "/usr/bin/chsh": (0o4755, 0, "root"),
    "/usr/bin/expiry": (0o2755, 0, "shadow"),
    "/usr/bin/gpasswd": (0o4755, 0, "root"),
    "/usr/bin/mount": (0o4755, 0, "root"),
    "/usr/bin/newgrp": (0o4755, 0, "root"),
    "/usr/bin/passwd": (0o4755, 0, "root"),
    "/usr/bin/ssh-agent": (0o2755, 0, "_ssh"),
    "/usr/bin/su": (0o4755, 0, "root"),
    "/usr/bin/sudo": (0o4755, 0, "root"),
    "/usr/bin/umount": (0o4755, 0, "root"),
    "/usr/lib/dbus-1.0/dbus-daemon-launch-helper": (0o4754, 0, "messagebus"),
    "/usr/lib/openssh/ssh-keysign": (0o4755, 0, "root"),
    "/usr/sbin/unix_chkpwd": (0o2755, 0, "shadow"),
}

SUDOERS = """
Defaults env_reset
Defaults mail_badpass
Defaults secure_path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
Defaults use_pty
root ALL=(ALL:ALL) ALL
%sudo ALL=(ALL:ALL) ALL
@includedir /etc/sudoers.d
"""

SSHD = """
Include /etc/ssh/sshd_config.d/*.conf
KbdInteractiveAuthentication no
UsePAM yes
X11Forwarding yes
PrintMotd no
AcceptEnv LANG LC_*
Subsystem sftp /usr/lib/openssh/sftp-server
"""

# What was enabled, or ran without that, beside what R10 names.
UNITS = """
apt-daily-upgrade.timer apt-daily.timer dpkg-db-backup.timer e2scrub_all.timer
e2scrub_reap.service fstrim.timer getty@tty1.service logrotate.timer remote-fs.target
systemd-network-generator.service systemd-networkd-wait-online.service systemd-networkd.socket
systemd-pstore.service dbus.service dbus.socket systemd-journald.service systemd-journald.socket
systemd-journal-flush.service systemd-logind.service systemd-modules-load.service
systemd-random-seed.service systemd-remount-fs.service systemd-sysctl.service
systemd-tmpfiles-clean.timer systemd-tmpfiles-setup.service systemd-tmpfiles-setup-dev.service
systemd-udev-trigger.service systemd-udevd.service systemd-update-utmp.service
systemd-user-sessions.service kmod-static-nodes.service systemd-fsck-root.service
systemd-fsck@.service systemd-sysusers.service
"""

# Whose everything is that is not root's, and where groups have always written.
OWNERS = {
    "/home/ingrid/": 1000,
    "/home/piet/": 1001,
    "/srv/tally/": 990,
    "/var/backups/tally/": 990,
    "/var/cache/apt/": 42,
    "/var/lib/apt/": 42,
}
GROUP_WRITES = ("/var/local/", "/var/mail/", "/var/log/")

# Where everybody has always written.
SHARED = ("/tmp/", "/var/tmp/")

# What lies there is covered by what is mounted over it.
HIDDEN = ("/dev/", "/proc/", "/run/", "/srv/tally/", "/sys/")

# What the kernel guards against its users, below /proc/sys: as it was, or stricter.
GUARDS = {
    "fs/protected_fifos": ("1", "2"),
    "fs/protected_hardlinks": ("1",),
    "fs/protected_regular": ("2",),
    "fs/protected_symlinks": ("1",),
    "fs/suid_dumpable": ("0",),
    "kernel/dmesg_restrict": ("1",),
    "kernel/perf_event_paranoid": ("3", "4"),
    "kernel/randomize_va_space": ("2",),
    "kernel/unprivileged_bpf_disabled": ("1", "2"),
    "net/ipv4/ip_forward": ("0",),
}
