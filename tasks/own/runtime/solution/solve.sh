#!/bin/bash
# The oracle: a core in C around the engine, and scripts that it has inside.
# STOP_AFTER=<milestone> leaves out what only later milestones ask for.
set -euo pipefail
ladder="builds runs modules requires packages order shows bytes files streams processes workers serves refuses-http fetches tests types bundles installs locks refuses survives quick limits night"
from-tasks-lib ladder.sh

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p /app/runtime
cp -r "$here"/src/. /app/runtime/
# What a `make` in the sources has left is not delivered.
(cd /app/runtime && rm -f ./*.o skarn stage parts.bin)

# edit FILE SED: what is looked for has to be there.
edit() {
	sed "$2" "/app/runtime/$1" > /tmp/edited
	! cmp -s /tmp/edited "/app/runtime/$1" || { echo "solve.sh: $1 has nothing for $2" >&2; exit 1; }
	cat /tmp/edited > "/app/runtime/$1"
}

has runs || edit lib/main.js "s/const rest = args.slice(at);/const rest = [];/"
has modules || edit lib/modules.js "s/if (format === 'module') return sourceOf(file);/if (format === 'module') throw new Error('no modules');/"
has requires || edit lib/modules.js "s/^function requireFrom(request, from, parent) {/&\n\tif (request[0] === '.') throw new Error('no files');/"
has packages || edit lib/modules.js "s/^function parseName(request, base) {/&\n\tthrow new Error('no packages');/"
has order || edit lib/boot.js "s/^const alive = () => .*/const alive = () => active > 0 || pending.length > 0;/"
has shows || edit lib/util.js "s/^function inspect(value, options, ...old) {/&\n\tif (typeof value === 'object') return String(value);/"
has bytes || edit lib/buffer.js "s/^const view = (buffer) => .*/const view = () => { throw new Error('no numbers'); };/"
has files || edit lib/fs.js "s/^function makeStats(list, options) {/&\n\tthrow new Error('no attributes');/"
has streams || edit lib/stream.js "s/^function Transform(options) {/&\n\tthrow new Error('no transforms');/"
has processes || edit lib/child_process.js "s/^function normal(file, args, options) {/&\n\tthrow new Error('no processes');/"
has workers || edit lib/worker_threads.js "s/^\t\tthis.threadId = ++last;/\t\tthrow new Error('no workers');/"
has serves || edit lib/http.js "s/^\t\tconst req = new server._Request(socket);/\t\tthrow new Bad(400, 'NOBODY');\n&/"
has refuses-http || edit lib/http.js "s/^const most = 16384;/const most = 1 << 20;/"
has fetches || edit lib/fetch.js "s/^async function fetch(input, init) {/&\n\tthrow new Error('no fetch');/"
has tests || edit lib/test_runner.js "s/^exports.command = async (files) => {/&\n\tfiles = [];/"
has types || edit lib/modules.js "s/^const isTyped = .*/const isTyped = () => false;/"
has bundles || edit lib/bundle.js "s/^\tif (!entry || !out) {/\tif (entry) {/"
has installs || edit lib/install.js "s/^async function install(args) {/&\n\tthrow new Error('no packages');/"
has locks || edit lib/install.js "s/^\tconst lock = lockOf(site, asks);/\tconst lock = null;/"
has refuses || edit lib/install.js "s/^\t\tif (!sha512(bytes).equals(digest)).*//"
has survives || edit lib/install.js "s/fs.fsyncSync(fd);//"
has quick || edit lib/boot.js "s/^else need('main').begin(args, start);/else {\n\tfor (let i = 0; i < 2e7; i++);\n\tneed('main').begin(args, start);\n}/"
has limits || edit main.c 's/"--memory"/"--no-memory"/; s/"--memory="/"--no-memory="/'
has night || edit lib/fetch.js "s/^\t\t\tsocket.destroy();$/\t\t\tif (!signal.aborted) socket.destroy();/"
