# Reads a list, complains of what is wrong, prints its layers without what is said around them.
function wrong(why) {
    print "build: list, line " NR ": " why > "/dev/stderr"
    bad = 1
    exit 1
}
BEGIN {
    split("list ref epoch user workdir env entrypoint cmd label layer", words, " ")
    for (i = 1; i in words; i++)
        place[words[i]] = i
}
/^$/ || /^#/ { next }
{
    if ($0 ~ /[\001-\010\013-\037\177]/)
        wrong("a control character")
    if ($1 == "package" || $1 == "remove") {
        if (!layers)
            wrong("no layer yet")
    } else if (!($1 in place))
        wrong("unknown word")
    else {
        if (place[$1] < last || (layers && $1 != "layer"))
            wrong("not in this place")
        last = place[$1]
        if (last <= 5 && count[$1])
            wrong("there twice")
    }
    count[$1]++
    want = ($1 == "package" || $1 == "label") ? 3 : 2
    if (NF != want || $2 == "" || ($1 == "package" && $3 == ""))
        wrong("fields")
}
$1 == "list" && $2 != "1" { wrong("unknown form") }
$1 == "epoch" && ($2 !~ /^(0|[1-9][0-9]*)$/ || length($2) > 10 || $2 + 0 >= 8589934592) { wrong("epoch") }
$1 == "user" && $2 !~ /^[0-9]+:[0-9]+$/ { wrong("user") }
$1 == "env" && $2 !~ /^[^=]+=/ { wrong("env") }
$1 == "package" {
    if ($2 !~ /^[a-z0-9+.-]+$/ || $2 ~ /^\.\.?$/ || $3 !~ /^[A-Za-z0-9+.~-]+$/)
        wrong("package")
    if ($2 in seen)
        wrong("package twice")
    seen[$2] = 1
    print layers "\tpackage\t" $2
}
$1 == "remove" { print layers "\tremove\t" $2 }
$1 == "layer" { layers++; print layers "\tlayer\t" $2 }
END {
    if (bad)
        exit 1
    for (i = 1; i <= 5; i++)
        if (!count[words[i]])
            wrong("no " words[i])
    if (!count["entrypoint"])
        wrong("no entrypoint")
}
