# Fetching what a task pins: `get download PACKAGE VERSION` and `get "source --download-only" PACKAGE
# VERSION` fetch into the current folder. Wants `set -eu`, and source-packages.sh before it.

get() {
    command=$1 package=$2 version=$3
    # _apt may not write here; as root apt says so and goes on.
    apt-get $command -qq -o APT::Sandbox::User=root "$package=$version" ||
        moved "$package $version" "no such version"
}
