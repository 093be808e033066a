# Prints the configuration, the manifest or the index.
function quote(text,    out, i, c) {
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        out = out ((c == "\"" || c == "\\") ? "\\" c : c)
    }
    return "\"" out "\""
}
function words(name, all, open, close_) {
    if (all != "")
        config = config "," quote(name) ":" open all close_
}
function add(all, one) {
    return all (all == "" ? "" : ",") one
}
BEGIN { oci = "application/vnd.oci.image." }
FILENAME == "layers" {
    diffs = add(diffs, quote("sha256:" $1))
    layers = add(layers, "{\"mediaType\":" quote(oci "layer.v1.tar+gzip") ",\"digest\":" quote("sha256:" $2) ",\"size\":" $3 "}")
    history = add(history, "{\"created\":" quote(created) ",\"created_by\":" quote("layer " $4) "}")
    next
}
$1 == "ref" { ref = $2 }
$1 == "user" { user = $2 }
$1 == "workdir" { workdir = $2 }
$1 == "env" { env = add(env, quote($2)) }
$1 == "entrypoint" { entrypoint = add(entrypoint, quote($2)) }
$1 == "cmd" { cmd = add(cmd, quote($2)) }
$1 == "label" { labels = add(labels, quote($2) ":" quote($3)) }
END {
    if (what == "config") {
        config = "\"User\":" quote(user) ",\"WorkingDir\":" quote(workdir)
        words("Env", env, "[", "]"); words("Entrypoint", entrypoint, "[", "]")
        words("Cmd", cmd, "[", "]"); words("Labels", labels, "{", "}")
        printf "{\"created\":%s,\"architecture\":\"amd64\",\"os\":\"linux\",\"config\":{%s}", quote(created), config
        printf ",\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[%s]},\"history\":[%s]}", diffs, history
    } else if (what == "manifest") {
        printf "{\"schemaVersion\":2,\"mediaType\":%s,\"config\":{\"mediaType\":%s,", quote(oci "manifest.v1+json"), quote(oci "config.v1+json")
        printf "\"digest\":%s,\"size\":%s},\"layers\":[%s]}", quote("sha256:" blob), bytes, layers
    } else {
        printf "{\"schemaVersion\":2,\"mediaType\":%s,\"manifests\":[{\"mediaType\":%s,", quote(oci "index.v1+json"), quote(oci "manifest.v1+json")
        printf "\"digest\":%s,\"size\":%s,\"annotations\":{\"org.opencontainers.image.ref.name\":%s}}]}", quote("sha256:" blob), bytes, quote(ref)
    }
}
