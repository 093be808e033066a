// {{axis_service}}: keeps records, and answers a line with a line over TCP. Public domain.
//
//     {{axis_service}} -p PORT -d FOLDER [-k FILE]
//
// SERVICE.md says what it answers and what it expects of its machine.

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLIENTS = 16, LINE = 256, RECORDS = 20000 };

struct client {
    int fd, used, known;
    char line[LINE];
};

static struct client clients[CLIENTS];
static char *records[RECORDS];
static int count, file, folder;
static char word[LINE];
static volatile sig_atomic_t ending;

static void end(int number) { (void)number; ending = 1; }

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static int is_plain(const char *text) {
    for (; *text; text++)
        if (*text < '!' || *text > '~') return 0;
    return 1;
}

// A record is "KEY VALUE"; the last one of a key counts.
static const char *find(const char *key) {
    size_t length = strlen(key);
    for (int at = count - 1; at >= 0; at--)
        if (!strncmp(records[at], key, length) && records[at][length] == ' ')
            return records[at] + length + 1;
    return NULL;
}

static void load(void) {
    FILE *from = fdopen(dup(file), "r");
    char line[2 * LINE];
    long good = 0;
    while (count < RECORDS && fgets(line, sizeof line, from)) {
        size_t length = strlen(line);
        if (!length || line[length - 1] != '\n') break;
        good += length;
        line[length - 1] = 0;
        records[count++] = strdup(line);
    }
    fclose(from);
    // What the power cut off was never acknowledged.
    if (ftruncate(file, good)) fail("records");
    lseek(file, good, SEEK_SET);
}

static const char *put(const char *key, const char *value) {
    char line[2 * LINE];
    off_t before = lseek(file, 0, SEEK_CUR);
    int length = snprintf(line, sizeof line, "%s %s\n", key, value);
    if (count == RECORDS || write(file, line, length) != length || fsync(file)) {
        if (ftruncate(file, before)) fail("records");
        lseek(file, before, SEEK_SET);
        return "full";
    }
    line[length - 1] = 0;
    records[count++] = strdup(line);
    fprintf(stderr, "put %s\n", key);
    return "ok";
}

static void answer(struct client *one) {
    char said[2 * LINE] = "unknown";
    char *verb = strtok(one->line, " "), *first = strtok(NULL, " "), *second = strtok(NULL, " ");
    if (!verb || strtok(NULL, " ") || (first && !is_plain(first)) || (second && !is_plain(second)))
        ;
    else if (!strcmp(verb, "word") && first && !second) {
        one->known = !strcmp(first, word);
        strcpy(said, one->known ? "welcome" : "stranger");
    } else if (!one->known)
        strcpy(said, "stranger");
    else if (!strcmp(verb, "mark") && first && !second) {
        uint64_t sum = 14695981039346656037u;
        for (char *at = first; *at; at++) sum = (sum ^ (unsigned char)*at) * 1099511628211u;
        snprintf(said, sizeof said, "mark %016llx", (unsigned long long)sum);
    } else if (!strcmp(verb, "put") && second)
        strcpy(said, put(first, second));
    else if (!strcmp(verb, "get") && first && !second) {
        const char *value = find(first);
        snprintf(said, sizeof said, value ? "value %s" : "none", value);
    } else if (!strcmp(verb, "count") && !first)
        snprintf(said, sizeof said, "count %d", count);
    strcat(said, "\n");
    if (send(one->fd, said, strlen(said), MSG_NOSIGNAL) < 0) one->used = -1;
}

static void hear(struct client *one) {
    char c;
    for (int at = 0; at < 4 * LINE; at++) {
        ssize_t got = recv(one->fd, &c, 1, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got <= 0) { one->used = -1; return; }
        if (c == '\n') {
            one->line[one->used] = 0;
            one->used = 0;
            answer(one);
            if (one->used < 0) return;
        } else if (one->used == LINE - 1) { one->used = -1; return; }
        else one->line[one->used++] = c;
    }
}

int main(int argc, char **argv) {
    int port = 0, option, on = 1;
    const char *place = NULL, *secret = NULL;
    while ((option = getopt(argc, argv, "p:d:k:")) != -1) {
        if (option == 'p') port = atoi(optarg);
        else if (option == 'd') place = optarg;
        else if (option == 'k') secret = optarg;
        else return 2;
    }
    if (!port || !place || optind != argc) {
        fprintf(stderr, "usage: %s -p PORT -d FOLDER [-k FILE]\n", argv[0]);
        return 2;
    }
    if (secret) {
        FILE *from = fopen(secret, "r");
        if (!from || !fgets(word, sizeof word, from)) fail(secret);
        word[strcspn(word, "\n")] = 0;
        fclose(from);
    }
    folder = open(place, O_RDONLY | O_DIRECTORY);
    if (folder < 0) fail(place);
    file = openat(folder, "records", O_RDWR | O_CREAT, 0600);
    if (file < 0) fail("records");
    unlinkat(folder, "closed", 0);
    load();
    fsync(folder);
    struct sigaction act = {.sa_handler = end};
    sigaction(SIGTERM, &act, NULL);
    int ear = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(ear, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (bind(ear, (struct sockaddr *)&at, sizeof at) || listen(ear, 8)) fail("port");
    fprintf(stderr, "ready %d\n", count);
    while (!ending) {
        struct pollfd polled[CLIENTS + 1] = {{.fd = ear, .events = POLLIN}};
        for (int i = 0; i < CLIENTS; i++)
            polled[i + 1] = (struct pollfd){.fd = clients[i].fd ? clients[i].fd : -1, .events = POLLIN};
        if (poll(polled, CLIENTS + 1, 1000) < 0) continue;
        for (int i = 0; i < CLIENTS; i++)
            if (clients[i].fd && polled[i + 1].revents) {
                hear(&clients[i]);
                if (clients[i].used < 0) { close(clients[i].fd); clients[i].fd = 0; }
            }
        if (!polled[0].revents) continue;
        int fresh = accept(ear, NULL, NULL), i = 0;
        if (fresh < 0) continue;
        while (i < CLIENTS && clients[i].fd) i++;
        if (i == CLIENTS) { close(clients[0].fd); i = 0; }
        clients[i] = (struct client){.fd = fresh, .known = !secret};
    }
    // The books are closed: this takes a while, and is not done when it is killed meanwhile.
    sleep(3);
    int mark = openat(folder, "closed", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (mark < 0 || write(mark, "closed\n", 7) != 7 || fsync(mark) || fsync(folder)) fail("closed");
    return 0;
}
