/* The agent's loop: frames from the host on a virtio port, a process for each stream. */
#include "stream.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUEST_MAX (8 * 1024 * 1024)
#define LISTENERS_MAX 8
#define NONE (-1)

static int port = NONE;
static struct buffer from_host;
static int listeners[LISTENERS_MAX], n_listeners;
static unsigned opened;

static int open_port(void) {
    DIR *ports = opendir("/sys/class/virtio-ports");
    int found = NONE;
    for (struct dirent *entry; ports && found < 0 && (entry = readdir(ports)) != NULL;) {
        char path[512], name[64] = "";
        snprintf(path, sizeof path, "/sys/class/virtio-ports/%s/name", entry->d_name);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) continue;
        if (read(file, name, sizeof name - 1) > 0 && !strncmp(name, "benchflow\n", 10)) {
            snprintf(path, sizeof path, "/dev/%s", entry->d_name);
            found = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
        }
        close(file);
    }
    if (ports) closedir(ports);
    return found;
}

static void wait_for(int fd, short what) {
    struct pollfd one = {fd, what, 0};
    poll(&one, 1, 1000);
}

/* Bytes of a former agent's may be on their way, in both directions: they are passed over. */
static void greet(const unsigned char *key) {
    unsigned char hello[2 * KEY_BYTES], wanted[2 * KEY_BYTES], seen[2 * KEY_BYTES] = {0}, byte;
    memcpy(hello, key, KEY_BYTES);
    getrandom(hello + KEY_BYTES, KEY_BYTES, 0);
    for (int n = 0; n < KEY_BYTES; n++) wanted[n] = key[n] ^ 0xff;
    memcpy(wanted + KEY_BYTES, hello + KEY_BYTES, KEY_BYTES);
    for (size_t sent = 0; sent < sizeof hello;) {
        ssize_t count = write(port, hello + sent, sizeof hello - sent);
        if (count > 0) sent += (size_t)count;
        else wait_for(port, POLLOUT);
    }
    while (memcmp(seen, wanted, sizeof seen)) {
        if (read(port, &byte, 1) == 1) {
            memmove(seen, seen + 1, sizeof seen - 1);
            seen[sizeof seen - 1] = byte;
        } else {
            wait_for(port, POLLIN);
        }
    }
}

static void listen_for(uint32_t number) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number)};
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (n_listeners == LISTENERS_MAX || bind(fd, (struct sockaddr *)&at, sizeof at) ||
        listen(fd, 128)) {
        say("port %u: %s", number, strerror(errno));
        close(fd);
        return;
    }
    listeners[n_listeners++] = fd;
}

static void welcome(int listener) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct stream *stream = fd < 0 ? NULL : new_stream(0x80000000u | ++opened);
    if (stream == NULL) {
        if (fd >= 0) close(fd);
        return;
    }
    stream->kind = OPEN;
    stream->to = fd;
    stream->from[0] = dup(fd);
    send_frame(OPEN, stream->id, NULL, 0);
}

static void handle(struct frame *frame, const unsigned char *data) {
    struct stream *stream = find_stream(frame->stream);
    uint32_t number = 0;
    if (frame->length >= sizeof number) memcpy(&number, data, sizeof number);
    switch (frame->kind) {
    case EXEC: start_command(frame->stream, (struct strings){data, data + frame->length}); break;
    case GIVE:
    case TAKE: start_porter(frame->kind, frame->stream, data, frame->length); break;
    case SYNC: start_sync(frame->stream); break;
    case LISTEN: listen_for(number); break;
    case DATA: if (stream) hold(&stream->pending, data, frame->length); break;
    case END: if (stream) stream->has_ended = 1; break;
    case TAKEN: if (stream) stream->window += number; break;
    case KILL: if (stream) kill_stream(stream); break;
    default: break;
    }
    if (stream && frame->kind == END) feed(stream);
}

static void read_port(void) {
    static unsigned char chunk[FRAME_MAX];
    ssize_t count = read(port, chunk, sizeof chunk);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
        wait_for(NONE, 0); /* the host has gone: the machine will, too */
        return;
    }
    if (count < 0) return;
    hold(&from_host, chunk, (size_t)count);
    struct frame frame;
    size_t at = 0;
    while (from_host.size - at >= sizeof frame) {
        memcpy(&frame, from_host.data + at, sizeof frame);
        if (frame.length > REQUEST_MAX) exit(1); /* out of step; a new agent gets into it */
        if (from_host.size - at < sizeof frame + frame.length) break;
        handle(&frame, from_host.data + at + sizeof frame);
        at += sizeof frame + frame.length;
    }
    drop(&from_host, at);
}

static void reap(int signals) {
    struct signalfd_siginfo ignored;
    int status;
    pid_t pid;
    while (read(signals, &ignored, sizeof ignored) > 0) continue;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) end_process(pid, status);
}

static void look(int signals) {
    static struct pollfd polled[4 * STREAMS_MAX + LISTENERS_MAX + 2];
    static struct stream *whose[4 * STREAMS_MAX + LISTENERS_MAX + 2];
    nfds_t count = 0;
    polled[count++] = (struct pollfd){port, POLLIN | (to_host.size ? POLLOUT : 0), 0};
    polled[count++] = (struct pollfd){signals, POLLIN, 0};
    for (int n = 0; n < n_listeners; n++) polled[count++] = (struct pollfd){listeners[n], POLLIN, 0};
    nfds_t first = count;
    for (struct stream *stream = streams; stream < streams + STREAMS_MAX; stream++) {
        if (!stream->is_used) continue;
        int may_send = (stream->window > 0 && to_host.size < WINDOW) || stream->is_drained;
        for (int n = 0; n < 2; n++) {
            if (stream->from[n] < 0 || !may_send) continue;
            whose[count] = stream;
            polled[count++] = (struct pollfd){stream->from[n], POLLIN, 0};
        }
        if (stream->to < 0 || !stream->pending.size) continue;
        whose[count] = stream;
        polled[count++] = (struct pollfd){stream->to, POLLOUT, 0};
    }
    if (poll(polled, count, -1) < 0) return;
    for (nfds_t n = first; n < count; n++) {
        if (!polled[n].revents || !whose[n]->is_used) continue;
        if (polled[n].events & POLLOUT) feed(whose[n]);
        else read_from(whose[n], polled[n].fd);
    }
    for (nfds_t n = 2; n < first; n++)
        if (polled[n].revents) welcome(polled[n].fd);
    if (polled[1].revents) reap(signals);
    if (polled[0].revents & POLLIN) read_port();
    if (polled[0].revents & POLLHUP) wait_for(NONE, 0);
    while (to_host.size) {
        ssize_t sent = write(port, to_host.data, to_host.size < FRAME_MAX ? to_host.size : FRAME_MAX);
        if (sent <= 0) break;
        drop(&to_host, (size_t)sent);
    }
}

int serve(const unsigned char *key, int limit) {
    sigset_t child;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    int signals = signalfd(NONE, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    int null = open("/dev/null", O_RDWR);
    while (null >= 0 && null < 3) null = dup(null); /* whoever started us may have closed some */
    close(null);
    while ((port = open_port()) < 0) sleep(1);
    make_groups(limit);
    greet(key);
    for (;;) look(signals);
}
