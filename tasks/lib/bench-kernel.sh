# The bench on which a customer starts what was built: Debian's kernel for clouds and a static busybox
# in /app/bench, out of linux-image-*.deb and busybox-static_*.deb in the current folder. What is left
# over is /tmp/kernel.

mkdir -p /app/bench /tmp/kernel
dpkg-deb -x linux-image-*.deb /tmp/kernel
cp /tmp/kernel/boot/vmlinuz-* /app/bench/vmlinuz
dpkg-deb --fsys-tarfile busybox-static_*.deb | tar -xO ./bin/busybox > /app/bench/busybox
chmod 755 /app/bench/busybox
