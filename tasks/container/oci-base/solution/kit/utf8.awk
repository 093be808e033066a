# Fails where the text is not UTF-8. The bytes of a line are looked at one by one.
function wrong() {
    bad = 1
    exit 1
}
BEGIN {
    for (i = 1; i < 256; i++)
        code[sprintf("%c", i)] = i
    high = "[" sprintf("%c", 128) "-" sprintf("%c", 255) "]"
}
$0 ~ high {
    for (i = 1; i <= length($0); i++) {
        c = code[substr($0, i, 1)]
        if (c < 128)
            continue
        more = c < 194 ? -1 : c < 224 ? 1 : c < 240 ? 2 : c < 245 ? 3 : -1
        if (more < 0)
            wrong()
        # Not longer than need be, no halves of UTF-16, nothing after the last sign.
        low = c == 224 ? 160 : c == 240 ? 144 : 128
        top = c == 237 ? 159 : c == 244 ? 143 : 191
        for (; more > 0; more--) {
            d = code[substr($0, ++i, 1)]
            if (d < low || d > top)
                wrong()
            low = 128
            top = 191
        }
    }
}
END {
    if (bad)
        exit 1
}
