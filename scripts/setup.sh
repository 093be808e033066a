# Sourced by scripts/demo and scripts/test: brings a bare Debian or Ubuntu machine to the point
# where benchflow runs. Idempotent; installs only what is missing; says what it does.
# Leaves: $UV (a working uv), .venv (the locked environment). POSIX sh.

if [ -t 1 ]; then say() { printf '\033[1m==>\033[0m %s\n' "$*"; }; else say() { printf '==> %s\n' "$*"; }; fi
die() { printf 'error: %s\n' "$1" >&2; [ -z "${2:-}" ] || printf 'hint: %s\n' "$2" >&2; exit 1; }

# A company's own certificates are in the system's store, not in uv's.
export UV_NATIVE_TLS=1 UV_SYSTEM_CERTS=1

# Images for containers and CI often set it. Every start of Python then compiles Harbor and LiteLLM
# anew, a second and more, and the tests start some hundred.
unset PYTHONDONTWRITEBYTECODE

# What the main job needs, as "program:package" (or "/file:package" where there is no program).
BENCHFLOW_PACKAGES='
bwrap:bubblewrap
newuidmap:uidmap
slirp4netns:slirp4netns
buildah:buildah
mmdebstrap:mmdebstrap
qemu-system-x86_64:qemu-system-x86
qemu-system-aarch64:qemu-system-arm
qemu-system-riscv64:qemu-system-misc
qemu-img:qemu-utils
/usr/share/OVMF/OVMF_CODE_4M.fd:ovmf
/usr/share/AAVMF/AAVMF_CODE.fd:qemu-efi-aarch64
/usr/share/seabios/bios-256k.bin:seabios
mke2fs:e2fsprogs
sfdisk:fdisk
mcopy:mtools
mkfs.vfat:dosfstools
xorriso:xorriso
7z:p7zip-full
cpio:cpio
gzip:gzip
xz:xz-utils
zstd:zstd
lz4:lz4
lzop:lzop
bzip2:bzip2
git:git
/usr/lib/x86_64-linux-gnu/libseccomp.so.2:libseccomp2
/usr/share/keyrings/debian-archive-keyring.gpg:debian-archive-keyring
/etc/ssl/certs/ca-certificates.crt:ca-certificates
'
# Used by the tests only.
BENCHFLOW_TEST_PACKAGES='
debootstrap:debootstrap
docker-registry:docker-registry
busybox:busybox-static
qemu-aarch64-static:qemu-user-static
/usr/lib/python3/dist-packages/pytest/__init__.py:python3-pytest
/usr/lib/python3/dist-packages/cryptography/__init__.py:python3-cryptography
/usr/lib/python3/dist-packages/pexpect/__init__.py:python3-pexpect
ssh:openssh-client
gcc:gcc
/usr/include/stdio.h:libc6-dev
strace:strace
readelf:binutils
openssl:openssl
chromium:chromium
'

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

missing_packages() {
  PATH="$PATH:/usr/sbin:/sbin"
  for pair in $1; do
    case $pair in
      /*) [ -e "${pair%%:*}" ] || printf '%s ' "${pair##*:}" ;;
      *) command -v "${pair%%:*}" >/dev/null 2>&1 || printf '%s ' "${pair##*:}" ;;
    esac
  done
}

install_packages() {
  wanted=$(missing_packages "$1")
  [ -n "$wanted" ] || return 0
  command -v apt-get >/dev/null 2>&1 ||
    die "this is not Debian or Ubuntu (no apt-get), and these are missing: $wanted" \
        "install them by hand with your system's package manager, then run this again"
  [ "$(id -u)" = 0 ] || command -v sudo >/dev/null 2>&1 ||
    die "these packages are missing and there is neither root nor sudo: $wanted" \
        "ask an administrator to run: apt-get install $wanted"
  say "installing Debian packages: $wanted"
  log=$(mktemp)
  # One index that the mirror is just renewing fails the whole update; the packages may be had still.
  as_root apt-get -qq update >"$log" 2>&1 || {
    tail -n 5 "$log" >&2
    say "the package lists could not all be brought up to date (above); going on with those here"
  }
  # shellcheck disable=SC2086
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq -y --no-install-recommends install $wanted >"$log" 2>&1 || {
    tail -n 15 "$log" >&2
    die "apt-get could not install: $wanted" \
        "check the network and /etc/apt; the log's end is above, all of it is in $log; then run this again"
  }
  rm -f "$log"
}

# A pyenv shim named uv may exist and refuse to run under this folder's .python-version.
works() { "$1" --version >/dev/null 2>&1; }

find_uv() {
  tools="${XDG_CACHE_HOME:-$HOME/.cache}/benchflow/tools"
  for candidate in "$(command -v uv || true)" "$HOME/.local/bin/uv" "$tools/uv/bin/uv"; do
    if [ -n "$candidate" ] && works "$candidate"; then UV=$candidate; return 0; fi
  done
  say "installing uv into $tools/uv"
  python3 -c 'import ensurepip, venv' 2>/dev/null ||
    install_packages '/nonexistent:python3-venv'
  mkdir -p "$tools"
  python3 -m venv --clear "$tools/uv" && "$tools/uv/bin/python" -m pip -q --disable-pip-version-check install uv ||
    die "uv could not be installed from PyPI" "check the network, or install uv by hand (https://docs.astral.sh/uv)"
  UV=$tools/uv/bin/uv
}

# Python ≥ 3.12: one that is here, else one that uv fetches, else Debian 13's own.
find_python() {
  "$UV" python find -q '>=3.12' >/dev/null 2>&1 && return 0
  debians=${XDG_CACHE_HOME:-$HOME/.cache}/benchflow/tools/python
  if [ ! -x "$debians/usr/bin/python3.13" ]; then
    say "fetching Python $(cat .python-version) with uv"
    "$UV" python install -q "$(cat .python-version)" 2>/dev/null && return 0
    say "that did not work here; taking Python 3.13 from Debian 13 instead"
    python_from_debian "$debians" ||
      die "no Python 3.12 or newer is here, and neither uv nor the Debian mirror has one" \
          "install Python 3.12 or newer (a package, pyenv, or from source), then run this again"
  fi
  export UV_PYTHON="$debians/usr/bin/python3.13"
}

# Debian 13's interpreter beside Debian 12's: unpacked with its own C library, and told to use it.
python_from_debian() {
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
    grep -v -i -e security -e debug | grep '/debian/*$' | head -n 1)
  [ -n "$mirror" ] || return 1
  install_packages 'patchelf:patchelf'
  new=$1.new
  as_root rm -rf "$new" && mkdir -p "${1%/*}" || return 1
  set --
  for key in Acquire::Check-Valid-Until Acquire::Check-Date Acquire::http::Proxy Acquire::https::Proxy; do
    eval "$(apt-config shell value "$key")"
    [ -z "${value:-}" ] || set -- "$@" "--aptopt=$key \"$value\""
    value=
  done
  as_root mmdebstrap --quiet --variant=extract --include=python3.13,python3.13-venv,libseccomp2 \
    "$@" trixie "$new" "$mirror" >/dev/null 2>&1 || return 1
  as_root chown -R "$(id -u):$(id -g)" "$new" || return 1
  mv "$new" "${new%.new}" || return 1
  root=${new%.new} libraries=$(dirname "$(find "${new%.new}/usr/lib" -name 'ld-linux*.so.*' | head -n 1)")
  patchelf --set-interpreter "$(find "$libraries" -maxdepth 1 -name 'ld-linux*.so.*' | head -n 1)" \
    --force-rpath --set-rpath "$libraries" "$root/usr/bin/python3.13" &&
    "$root/usr/bin/python3.13" -c 'import ssl, sqlite3, ctypes' || {
    rm -rf "$root"
    return 1
  }
}

# "run" leaves out what only developers need; "dev" brings all of it.
sync_environment() {
  find_python
  # The synced lock is remembered, so that a second run costs nothing.
  stamp=.venv/.benchflow-synced-$1
  state=$(cksum uv.lock pyproject.toml .python-version)
  if [ ! -x .venv/bin/benchflow ] || [ "$(cat "$stamp" 2>/dev/null)" != "$state" ]; then
    say "installing the locked Python environment into .venv"
    flags='--frozen --inexact'
    # Reports and pages need the extras; the developers' group brings them by itself.
    [ "$1" = dev ] || flags="$flags --no-dev --extra analysis --extra site"
    # shellcheck disable=SC2086
    "$UV" sync -q $flags || die "uv could not install the locked environment" "check the network to PyPI, then run this again"
    printf '%s\n' "$state" >"$stamp"
  fi
}

# A plain user needs ranges of subordinate ids; root maps any range by itself.
ensure_id_ranges() {
  [ "$(id -u)" != 0 ] || return 0
  user=$(id -un)
  for file in /etc/subuid /etc/subgid; do
    if ! grep -q "^$user:" "$file" 2>/dev/null; then
      say "giving $user a range of subordinate ids in $file"
      printf '%s:%s:65536\n' "$user" "$((100000 + 65536 * ($(id -u) % 1000)))" |
        as_root tee -a "$file" >/dev/null || die "cannot write $file" "add a line: $user:100000:65536"
    fi
  done
}

# set_up run|dev
set_up() {
  install_packages "$BENCHFLOW_PACKAGES"
  ensure_id_ranges
  find_uv
  sync_environment "$1"
}
