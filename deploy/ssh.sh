#!/bin/sh
# Runs a sweep on machines that you reach by ssh, one part each, and merges what they made.
#
#   deploy/ssh.sh HOSTS SWEEP.toml OUT [BENCHFLOW]
#
# HOSTS      a file with one machine a line, as ssh takes it ("user@name"); lines with # are left out
# OUT        the merged job; the machines' own jobs are kept below OUT.parts
# BENCHFLOW  the folder of this repository on each machine (default: benchflow), set up there once
#            by scripts/demo; sweep file and results lie in sweeps/NAME beside it
#
# Call it again after any failure: finished trials are not run again.
set -eu
[ $# -ge 3 ] || { sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 2; }
list=$1 file=$2 out=$3 there=${4:-benchflow}
name=$(basename "$file" .toml)
hosts=$(grep -v -e '^ *#' -e '^ *$' "$list")
count=$(printf '%s\n' "$hosts" | wc -l)
mkdir -p "$out.parts"

# What happens on one machine; its output goes to a file of its own.
part() {
  ssh -o BatchMode=yes "$2" "mkdir -p '$there/sweeps/$name'" &&
    scp -q -o BatchMode=yes "$file" "$2:$there/sweeps/$name/$name.toml" &&
    ssh -o BatchMode=yes "$2" "cd '$there/sweeps/$name' && ../../.venv/bin/benchflow sweep '$name.toml' --shard $1/$count"
  status=$?
  # Status 4: some trials could not be judged; what there is comes back all the same.
  mkdir -p "$out.parts/$1"
  scp -q -r -p -o BatchMode=yes "$2:$there/sweeps/$name/jobs/." "$out.parts/$1/" || status=1
  return $status
}

number=0 running=
for host in $hosts; do
  number=$((number + 1))
  echo "part $number of $count: $host (log: $out.parts/$number.log)"
  part "$number" "$host" >"$out.parts/$number.log" 2>&1 </dev/null &
  running="$running $!"
done
failed=0 number=0
for job in $running; do
  number=$((number + 1))
  wait "$job" || { failed=1; echo "part $number did not end well: see $out.parts/$number.log" >&2; }
done
"$(dirname "$0")/../.venv/bin/benchflow" merge "$out.parts"/*/ -o "$out" || failed=1
exit $failed
