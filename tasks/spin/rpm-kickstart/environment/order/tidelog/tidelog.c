/* tidelog: `tidelog FILE` prints a check sum of FILE (Fletcher-32 over its bytes) and the zone's
 * name from /etc/tidelog/zone; when /usr/share/tidelog/phrases is there, a line of it, too. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifndef RELEASE
#error "RELEASE has to be the version and release of the package, like \"0.9-1\""
#endif

int main(int argc, char **argv) {
    uint32_t low = 0xffff, high = 0xffff;
    char line[128] = "none";
    int c;
    if (argc != 2)
        return 2;
    if (!strcmp(argv[1], "--release"))
        return puts(RELEASE) < 0;
    FILE *file = fopen(argv[1], "rb");
    if (!file) {
        perror(argv[1]);
        return 1;
    }
    while ((c = getc(file)) != EOF) {
        low = (low + (uint32_t)c) % 65535;
        high = (high + low) % 65535;
    }
    fclose(file);
    if ((file = fopen("/etc/tidelog/zone", "r"))) {
        if (fgets(line, sizeof line, file))
            line[strcspn(line, "\n")] = 0;
        fclose(file);
    }
    printf("%08x %s\n", (unsigned)(high << 16 | low), line);
    if ((file = fopen("/usr/share/tidelog/phrases", "r"))) {
        if (fgets(line, sizeof line, file))
            fputs(line, stdout);
        fclose(file);
    }
    return 0;
}
