/* beacon: answers on a TCP port with its name and a sum over what it is asked.
 *
 * A line "ping WORD" is answered "pong WORD NAME COUNT", where COUNT is how many pings this
 * beacon has answered since it was installed; it is kept in /var/lib/beacon/count.
 * A line "release" is answered with what the macro RELEASE said when this was compiled.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef RELEASE
#error "RELEASE has to be the version and release of the package, like \"1.4-2\""
#endif

static char name[64] = "nameless";
static int port = 7070;

static void configure(const char *path) {
    FILE *file = fopen(path, "r");
    char line[256];
    if (!file) {
        perror(path);
        exit(1);
    }
    while (fgets(line, sizeof line, file)) {
        sscanf(line, "name=%63s", name);
        sscanf(line, "port=%d", &port);
    }
    fclose(file);
}

static long counted(void) {
    const char *path = "/var/lib/beacon/count", *next = "/var/lib/beacon/count.new";
    long count = 0;
    FILE *file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%ld", &count) != 1)
            count = 0;
        fclose(file);
    }
    count++;
    file = fopen(next, "w");
    if (!file || fprintf(file, "%ld\n", count) < 0 || fclose(file) || rename(next, path)) {
        perror(path);
        exit(1);
    }
    return count;
}

int main(void) {
    struct sockaddr_in6 any = {.sin6_family = AF_INET6};
    int one = 1, heard = socket(AF_INET6, SOCK_STREAM, 0);
    configure("/etc/beacon.conf");
    any.sin6_port = htons(port);
    setsockopt(heard, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (heard < 0 || bind(heard, (struct sockaddr *)&any, sizeof any) || listen(heard, 8)) {
        perror("beacon");
        return 1;
    }
    for (;;) {
        char line[256], word[128];
        int wire = accept(heard, NULL, NULL);
        FILE *in = wire < 0 ? NULL : fdopen(wire, "r+");
        if (!in)
            continue;
        while (fgets(line, sizeof line, in)) {
            if (sscanf(line, "ping %127s", word) == 1)
                fprintf(in, "pong %s %s %ld\n", word, name, counted());
            else if (!strncmp(line, "release", 7))
                fprintf(in, "%s\n", RELEASE);
            else
                fprintf(in, "what?\n");
            fflush(in);
        }
        fclose(in);
    }
}
