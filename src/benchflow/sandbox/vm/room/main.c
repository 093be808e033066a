/* Process 1 of the initramfs, and the agent that it leaves in /run/benchflow. */
#include "agent.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void say(const char *format, ...) {
    char line[1024];
    va_list rest;
    va_start(rest, format);
    int length = vsnprintf(line, sizeof line, format, rest);
    va_end(rest);
    if (length > (int)sizeof line) length = sizeof line;
    int console = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
    if (console < 0) return;
    dprintf(console, "<1>benchflow: %.*s\n", length, line);
    close(console);
}

int write_file(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) return -1;
    ssize_t size = (ssize_t)strlen(text), written = write(file, text, size);
    close(file);
    return written == size ? 0 : -1;
}

char *next_string(struct strings *from) {
    uint32_t length;
    if (from->end - from->at < (ptrdiff_t)sizeof length) return NULL;
    memcpy(&length, from->at, sizeof length);
    from->at += sizeof length;
    if ((uint64_t)(from->end - from->at) < length) return NULL;
    char *text = malloc((size_t)length + 1);
    if (text == NULL) return NULL;
    memcpy(text, from->at, length);
    text[length] = 0;
    from->at += length;
    return text;
}

int main(int argc, char **argv) {
    if (getpid() == 1 && argc < 4) return bring_up();
    if (argc != 3 || strlen(argv[1]) != 2 * KEY_BYTES) return 2;
    unsigned char key[KEY_BYTES];
    for (int n = 0; n < KEY_BYTES; n++) sscanf(argv[1] + 2 * n, "%2hhx", &key[n]);
    return serve(key, atoi(argv[2]));
}
