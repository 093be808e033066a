# Where the volumes of the server atlas lie on $disk, found by spare superblocks: $root_start,
# $root_sectors, $root_uuid and the same of swap and data; `edit` and `put` change a file system.
# Wants $disk and the folder $scratch.

# --- what lies where --------------------------------------------------------------------------
python3 - "$disk" > "$scratch/found" <<'PY'
import mmap, struct, sys, uuid
with open(sys.argv[1], "rb") as file:
    disk = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
found = {}
at = disk.find(b"\x53\xef")
while at >= 0:
    base = at - 0x38
    if base >= 0 and base % 512 == 0:
        blocks, first, log = (struct.unpack_from("<I", disk, base + o)[0] for o in (4, 20, 24))
        per_group, = struct.unpack_from("<I", disk, base + 32)
        group, = struct.unpack_from("<H", disk, base + 0x5A)
        if log <= 2 and blocks and per_group == 8192 << log:
            size = 1024 << log
            start = base - (group * per_group + first) * size - (1024 if not first and not group else 0)
            label = disk[base + 0x78 : base + 0x88].rstrip(b"\0").decode("ascii", "replace")
            found.setdefault(label, (start // 512, blocks * size // 512, uuid.UUID(bytes=disk[base + 0x68 : base + 0x78])))
    at = disk.find(b"\x53\xef", at + 1)
free = sum(found["atlas-root"][:2]) * 512
swap = disk.find(b"SWAPSPACE2", free) - 4086
found["swap"] = (swap // 512, (struct.unpack_from("<I", disk, swap + 1028)[0] + 1) * 8, uuid.UUID(bytes=disk[swap + 1036 : swap + 1052]))
for name, (start, sectors, ident) in found.items():
    print(name, start, sectors, ident)
PY
cat "$scratch/found"
read -r _ root_start root_sectors root_uuid < <(grep '^atlas-root ' "$scratch/found")
read -r _ swap_start swap_sectors swap_uuid < <(grep '^swap ' "$scratch/found")
read -r _ data_start data_sectors data_uuid < <(grep '^tally ' "$scratch/found")
root="$disk?offset=$((root_start * 512))"
data="$disk?offset=$((data_start * 512))"

edit() { # edit FILESYSTEM: debugfs commands on stdin
    debugfs -w -f /dev/stdin "$1" > "$scratch/debugfs.log" 2>&1
}
put() { # put FILESYSTEM LOCAL PATH MODE UID GID
    edit "$1" <<CMD
rm $3
write $2 $3
sif $3 mode 0100$4
sif $3 uid $5
sif $3 gid $6
CMD
    debugfs -R "cat $3" "$1" 2> /dev/null | cmp - "$2"
}
