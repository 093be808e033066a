# Writes the headers of our tar to h/NUMBER, and the names of the files whose contents follow each other.
function zeros(n) {
    for (; n >= 32; n -= 32)
        printf "%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c", 0, 0, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 > file
    for (; n > 0; n--)
        printf "%c", 0 > file
}
function field(text, width) {
    printf "%s", text > file
    zeros(width - length(text))
}
function total(text,    i, sum) {
    for (i = length(text); i > 0; i--)
        sum += code[substr(text, i, 1)]
    return sum
}
function octal(digits,    i, value) {
    for (i = 1; i <= length(digits); i++)
        value = value * 8 + substr(digits, i, 1)
    return value
}
# printf has 32 bits for an octal number.
function long(value,    digits) {
    while (length(digits) < 11) {
        digits = (value % 8) digits
        value = int(value / 8)
    }
    return digits
}
function gap(n) {
    if (!(n in made)) {
        file = "h/gap" n
        made[n] = file
        zeros(n)
        close(file)
    }
    return made[n]
}
BEGIN {
    for (i = 1; i < 256; i++)
        code[sprintf("%c", i)] = i
    kind["f"] = "0"; kind["h"] = "1"; kind["s"] = "2"; kind["d"] = "5"
}
{
    name = $1; prefix = ""
    if ($2 == "d")
        name = name "/"
    if (length(name) > 100)
        for (i = length(name) - 100; i < length(name); i++)
            if (substr(name, i, 1) == "/" && i > 1) {
                prefix = substr(name, 1, i - 1)
                name = substr(name, i + 1)
                break
            }
    mode = sprintf("%07o", octal($3)); uid = sprintf("%07o", $4); gid = sprintf("%07o", $5)
    size = sprintf("%011o", $6); time = long(mtime)
    # The checksum counts itself as eight spaces.
    sum = total(name prefix mode uid gid size time kind[$2] $7 "ustar00") + 256
    file = "h/" NR
    field(name, 100); field(mode, 8); field(uid, 8); field(gid, 8); field(size, 12); field(time, 12)
    field(sprintf("%06o", sum), 7)
    field(" " kind[$2] $7, 102); field("ustar", 6); field("00", 82); field(prefix, 167)
    close(file)
    print file
    if ($2 == "f" && $6 > 0) {
        print $8
        if ($6 % 512)
            print gap(512 - $6 % 512)
    }
}
END {
    print gap(512); print gap(512)
}
