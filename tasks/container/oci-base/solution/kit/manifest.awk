# Checks one manifest; writes the parcel's members as a spec, their names to `names`, sums to `sums`.
function wrong(why) {
    print "build: " name ": manifest, line " NR ": " why > "/dev/stderr"
    bad = 1
    exit 1
}
function path(text,    parts, n, i, longest) {
    if (length(text) < 1 || length(text) > 255 || text ~ /[\001-\037\177\\]/)
        wrong("path")
    n = split(text, parts, "/")
    for (i = 1; i <= n; i++)
        if (parts[i] == "" || parts[i] == "." || parts[i] == ".." || parts[i] ~ /^\.wh\./)
            wrong("path")
    # Of a directory's name the slash at its end counts.
    longest = length(text) + ($1 == "dir")
    if (longest > 100) {
        for (i = longest - 100; i < length(text); i++)
            if (i > 1 && substr(text, i, 1) == "/")
                break
        if (i >= length(text) || i - 1 > 155)
            wrong("path cannot be held")
    }
    # Two numbers would be compared as numbers: 10 and 9, 1 and 1.0.
    if (entries && (text "") <= (before ""))
        wrong("not sorted")
    before = text
    entries++
}
function id(text) {
    if (text !~ /^(0|[1-9][0-9]*)$/ || length(text) > 5 || text + 0 > 65535)
        wrong("owner")
}
function fields(n) {
    if (NF != n)
        wrong("fields")
}
function ordered(rank) {
    if (rank < stage)
        wrong("not in this place")
    if (rank < 3 && rank == stage && ($2 "") <= (word ""))
        wrong("not sorted")
    stage = rank
    word = $2
    if (rank < 3 && (NF != 2 || $2 !~ /^[a-z0-9+.-]+$/))
        wrong("name")
}
BEGIN {
    print "PARCEL\tf\t0644\t0\t0\t" size "\t\tp/" name "/PARCEL"
    print "PARCEL" > "names"
}
NR == 1 { if ($0 != "parcel\t1") wrong("unknown form"); next }
NR == 2 { if ($0 != "name\t" name) wrong("another name"); next }
NR == 3 { if ($0 != "version\t" version) wrong("another version"); next }
$1 == "needs" { ordered(1); next }
$1 == "replaces" { ordered(2); next }
{ ordered(3) }
$1 == "dir" { fields(5); if ($2 !~ /^[0-7][0-7][0-7][0-7]$/) wrong("mode"); id($3); id($4); path($5); next }
$1 == "file" {
    fields(7)
    if ($2 !~ /^[0-7][0-7][0-7][0-7]$/ || $5 !~ /^(0|[1-9][0-9]*)$/ || length($5) > 9 || $6 !~ /^[0-9a-f]+$/ || length($6) != 64)
        wrong("file")
    id($3); id($4); path($7)
    known[$7] = 1
    member = sprintf("data/%06d", ++files)
    print member "\tf\t0644\t0\t0\t" $5 "\t\tp/" name "/" member
    print member > "names"
    print $6 "  p/" name "/" member > "sums"
    next
}
$1 == "symlink" {
    fields(5); id($2); id($3); path($5)
    if (length($4) < 1 || length($4) > 100 || $4 ~ /[\001-\037\177\\]/)
        wrong("target")
    next
}
$1 == "hardlink" { fields(3); path($3); if (!($2 in known) || length($2) > 100) wrong("target"); next }
{ wrong("unknown word") }
END {
    if (bad)
        exit 1
    if (NR < 3)
        wrong("too short")
}
