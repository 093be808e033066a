#!/bin/bash
# toolchain.sh BUILD: builds the toolchain in /fx31, its sysroot in /fx31/sysroot. What is built is kept.
# No specs yet: the libraries are made before the defaults that need them.
set -euo pipefail
build=$1
sources=/app/sources
prefix=/fx31
sysroot=$prefix/sysroot
target=riscv64-ferrum-linux-musl
identity='Ferrum FX-31'
jobs=$(nproc)
# Half the time of -O2, and the compiler that comes of it is hardly slower.
host='-O1 -g0'
export PATH=$prefix/bin:$PATH MAKEFLAGS=
log() { echo "[$(date +%T)] $*"; }
# step NAME FUNCTION: once, in a subshell that ends at the first error, with its own log
step() {
    [ ! -e "$build/done.$1" ] || return 0
    log "$1"
    # Where a status is asked for, no error would end the subshell.
    set +e
    (set -e; cd "$build"; "$2") > "$build/$1.log" 2>&1
    local status=$?
    set -e
    [ $status = 0 ] || { tail -n 30 "$build/$1.log"; exit 1; }
    touch "$build/done.$1"
}

unpack() {
    mkdir -p src
    tar -C src -xf "$(echo $sources/gcc-*.tar.xz)"
    tar -C src -xf "$(echo $sources/binutils-*.tar.xz)"
    tar -C src -xf "$(echo $sources/musl_*.tar.gz)"
    mv src/gcc-* src/gcc
    mv src/binutils-* src/binutils
    mv src/musl-* src/musl
}

binutils() {
    rm -rf obj-binutils && mkdir obj-binutils && cd obj-binutils
    # Sources are named by relative paths, or their places end up in messages of the programs.
    ../src/binutils/configure --prefix=$prefix --target=$target --with-sysroot=$sysroot \
        --with-pkgversion="$identity" --enable-relro --enable-default-hash-style=gnu \
        --enable-deterministic-archives --disable-plugins --disable-multilib --disable-nls \
        --disable-werror --disable-gdb --disable-gdbserver --disable-sim --disable-readline \
        --disable-gprof --disable-gprofng --disable-gold --without-zstd \
        CFLAGS="$host" CXXFLAGS="$host"
    make -j"$jobs" configure-host
    make -j"$jobs" LDFLAGS=-all-static MAKEINFO=true
    make install-strip MAKEINFO=true
}

headers() {
    mkdir -p $sysroot/usr
    make -C src/linux ARCH=riscv headers_install INSTALL_HDR_PATH=$sysroot/usr
    make -C src/musl ARCH=riscv64 prefix=/usr DESTDIR=$sysroot install-headers
}

linux() {
    tar -C src -xf "$(echo $sources/linux-source-*.tar.xz)"
    mv src/linux-source-* src/linux
}

compiler() {
    rm -rf obj-gcc && mkdir obj-gcc && cd obj-gcc
    ../src/gcc/configure --prefix=$prefix --target=$target --with-sysroot=$sysroot \
        --with-pkgversion="$identity" --with-arch=rv64gc --with-abi=lp64d --enable-languages=c,c++ \
        --enable-checking=release --enable-default-pie --enable-default-ssp \
        --enable-linker-build-id --with-linker-hash-style=gnu --enable-threads=posix --enable-tls \
        --disable-multilib --disable-bootstrap --disable-nls --disable-lto --disable-plugin \
        --disable-libsanitizer --disable-libgomp --disable-libquadmath --disable-libvtv \
        --disable-libssp --disable-libstdcxx-pch --disable-fixed-point --without-isl --without-zstd \
        CFLAGS="$host" CXXFLAGS="$host" LDFLAGS=-static \
        CFLAGS_FOR_TARGET=-O2 CXXFLAGS_FOR_TARGET=-O2
    make -j"$jobs" all-gcc MAKEINFO=true
    # This archive has no texts of the manual, with which installing would compare its own.
    touch gcc/s-tm-texi
    make install-strip-gcc MAKEINFO=true
    # libgcc alone, static: the C library is linked to it, and its shared form to the C library.
    make -j"$jobs" MAKE='make enable_shared=no' all-target-libgcc
}

libc() {
    rm -rf obj-musl && mkdir obj-musl && cd obj-musl
    ../src/musl/configure --target=$target --prefix=/usr --syslibdir=/lib CC=$target-gcc \
        CROSS_COMPILE=$target- CFLAGS=-O2 LIBCC="$(echo "$build"/obj-gcc/$target/libgcc/libgcc.a)"
    make -j"$jobs"
    make DESTDIR=$sysroot install
    # The loader is a link to an absolute path otherwise, and leads out of the sysroot.
    mkdir -p $sysroot/lib
    mv $sysroot/usr/lib/libc.so $sysroot/lib/ld-musl-riscv64.so.1
    ln -s ../../lib/ld-musl-riscv64.so.1 $sysroot/usr/lib/libc.so
    $target-strip -g $sysroot/lib/ld-musl-riscv64.so.1 $sysroot/usr/lib/*.a $sysroot/usr/lib/*.o
}

libraries() {
    cd obj-gcc
    make -j"$jobs" all-target-libgcc
    make install-strip-target-libgcc
    make -j"$jobs" all-target-libatomic all-target-libstdc++-v3
    make install-strip-target-libatomic install-strip-target-libstdc++-v3
    find $prefix/$target/lib $prefix/lib/gcc -name '*.la' -delete
    find $prefix/$target/lib $prefix/lib/gcc \( -name '*.a' -o -name '*.o' \) \
        -exec $target-strip -g {} +
    rm -rf $prefix/share
}

mkdir -p "$build"
step sources unpack
step binutils binutils
step linux linux
step headers headers
step compiler compiler
step libc libc
step libraries libraries
