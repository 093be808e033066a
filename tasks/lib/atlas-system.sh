# The Debian 12 system of the server atlas, without anything of its owner's, below $root; its lists of
# packages come from this machine's own sources.

packages=systemd-sysv,systemd-timesyncd-,udev,dbus,kmod,sudo,openssh-server,nftables,iproute2
packages=$packages,linux-image-cloud-amd64,initramfs-tools,zstd,e2fsprogs,grub-pc,procps,nano
packages=$packages,python3-minimal,logrotate,passwd,login
cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list \
    2>/dev/null > /tmp/sources || true
INITRD=No DEBIAN_FRONTEND=noninteractive mmdebstrap --mode=root --variant=minbase \
    --include="$packages" \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/info/*' \
    --dpkgopt='path-include=/usr/share/doc/tallyd/*' \
    --skip=cleanup/reproducible,cleanup/apt \
    bookworm "$root" - < /tmp/sources
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin "$root"/var/cache/apt/archives/*.deb
