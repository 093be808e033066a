# What a build says that finds something else on the Debian mirror than what its task pins:
# `moved WHAT WHY` ends it, and says what to do about a mirror that has moved on. Compare with
# `sha256sum -c SHA256SUMS || moved …`.

moved() {
    echo "The Debian mirror no longer has $1 as it was when this task was written ($2)." >&2
    echo "Point the build at a mirror or snapshot of Debian 12 that does; see SHA256SUMS." >&2
    exit 1
}
