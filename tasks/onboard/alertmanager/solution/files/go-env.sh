# How the project is built, here and while the disk is made: the same words, so that what was
# compiled then is found again.
export GOPATH=/usr/lib/alertmanager/go GO111MODULE=off GOFLAGS=-trimpath GOTOOLCHAIN=local
export CGO_ENABLED=0 GOCACHE=/var/cache/alertmanager-build HOME=/root
project=github.com/prometheus/alertmanager
# Go removes what was of no use for five days by the clock of the machine.
touch_cache() { find "$GOCACHE" -type f -mtime +1 -exec touch {} +; }
