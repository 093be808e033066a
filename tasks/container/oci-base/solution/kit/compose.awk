# Reads the plan and the manifests; writes layer.NUMBER, a spec of each layer's members.
function wrong(why) {
    print "build: " why > "/dev/stderr"
    bad = 1
    exit 1
}
function above(path) {
    return match(path, /\/[^\/]*$/) ? substr(path, 1, RSTART - 1) : ""
}
function folder(path) {
    return (path in kind) && kind[path] == "d"
}
function forget(path) {
    delete kind[path]; delete owner[path]; delete attributes[path]; delete layer[path]; delete hard[path]
}
function remove(path,    other, parent) {
    if (!(path in kind))
        wrong("remove " path ": it is not there")
    if (path in hard)
        wrong("remove " path ": it is a hard link")
    for (other in kind)
        if (index(other, path "/") == 1)
            forget(other)
    forget(path)
    gone[path] = now
    parent = above(path)
    whiteout[path] = (parent == "" ? "" : parent "/") ".wh." substr(path, length(parent) + (parent == "" ? 1 : 2))
}
function add(path, type, text, package) {
    if ((path in gone) && gone[path] == now)
        wrong(package ": " path " is removed in the same layer")
    if (path in kind) {
        if (type == "d") {
            if (kind[path] != "d" || attributes[path] != text)
                wrong(package ": " path " is another directory")
            return
        }
        if (kind[path] == "d" || !((package, owner[path]) in replaces))
            wrong(package ": " path " belongs to " owner[path])
        if (path in hard)
            wrong(package ": " path " is a hard link")
    }
    kind[path] = type; attributes[path] = text; owner[path] = package; layer[path] = now
}
function manifest(package,    file, part, n, files, member, type) {
    file = "p/" package "/PARCEL"
    files = 0
    while ((getline line < file) > 0) {
        n = split(line, part, "\t")
        type = part[1]
        if (type == "needs")
            needs[package, part[2]] = now
        else if (type == "replaces")
            replaces[package, part[2]] = 1
        else if (type == "dir")
            add(part[5], "d", part[2] "\t" part[3] "\t" part[4] "\t0\t\t", package)
        else if (type == "file") {
            member = sprintf("p/%s/data/%06d", package, ++files)
            rights[package, part[7]] = part[2] "\t" part[3] "\t" part[4]
            add(part[7], "f", part[2] "\t" part[3] "\t" part[4] "\t" part[5] "\t\t" member, package)
        } else if (type == "symlink")
            add(part[5], "s", "0777\t" part[2] "\t" part[3] "\t0\t" part[4] "\t", package)
        else if (type == "hardlink") {
            add(part[3], "h", rights[package, part[2]] "\t0\t" part[2] "\t", package)
            hard[part[2]] = hard[part[3]] = 1
        }
    }
    close(file)
}
function finish(    path, pair, both, out) {
    for (pair in needs)
        if (needs[pair] == now) {
            split(pair, both, SUBSEP)
            if (!(both[2] in packages))
                wrong(both[1] " needs " both[2])
        }
    out = "layer." now
    printf "" > out
    for (path in kind)
        if (layer[path] == now) {
            if (above(path) != "" && !folder(above(path)))
                wrong(path " lies in nothing")
            print path "\t" kind[path] "\t" attributes[path] > out
        }
    for (path in whiteout) {
        if (above(path) != "" && !folder(above(path)))
            wrong(path " lay in what is removed")
        print whiteout[path] "\tf\t0644\t0\t0\t0\t\t" > out
    }
    close(out)
}
function run(    i) {
    if (!now)
        return
    for (i = 1; i <= removals; i++)
        remove(removal[i])
    for (i = 1; i <= members; i++)
        packages[wanted[i]] = 1
    for (i = 1; i <= members; i++)
        manifest(wanted[i])
    finish()
    for (i in whiteout)
        delete whiteout[i]
    removals = members = 0
}
$2 == "layer" { run(); now = $1 }
$2 == "remove" { removal[++removals] = $3 }
$2 == "package" { wanted[++members] = $3 }
END {
    if (bad)
        exit 1
    run()
}
