/* Streams: a command, a transfer of files, or a connection that a program in the guest has made. */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NONE (-1)
#define KILLED (128 + SIGKILL)
#define GROUPS_MAX 4096

struct stream streams[STREAMS_MAX];
struct buffer to_host;
static char groups[400]; /* where each command has a control group of its own; "" without any */
static unsigned begun;
static char *left_groups[GROUPS_MAX]; /* of commands that ended, with what these left running */

void hold(struct buffer *buffer, const void *data, size_t size) {
    if (buffer->size + size > buffer->room) {
        buffer->room = 2 * (buffer->size + size);
        buffer->data = realloc(buffer->data, buffer->room);
        if (buffer->data == NULL) exit(1);
    }
    if (size) memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
}

void drop(struct buffer *buffer, size_t size) {
    buffer->size -= size;
    if (size) memmove(buffer->data, buffer->data + size, buffer->size);
}

void send_frame(uint32_t kind, uint32_t id, const void *data, size_t size) {
    struct frame frame = {(uint32_t)size, kind, id};
    hold(&to_host, &frame, sizeof frame);
    hold(&to_host, data, size);
}

static void send_status(uint32_t id, uint32_t status) {
    send_frame(STATUS, id, &status, sizeof status);
}

struct stream *new_stream(uint32_t id) {
    for (struct stream *stream = streams; stream < streams + STREAMS_MAX; stream++) {
        if (stream->is_used) continue;
        free(stream->pending.data);
        memset(stream, 0, sizeof *stream);
        *stream = (struct stream){.is_used = 1, .id = id, .window = WINDOW};
        stream->to = stream->from[0] = stream->from[1] = NONE;
        return stream;
    }
    return NULL;
}

struct stream *find_stream(uint32_t id) {
    for (struct stream *stream = streams; stream < streams + STREAMS_MAX; stream++)
        if (stream->is_used && stream->id == id && !stream->is_drained) return stream;
    return NULL;
}

static void close_fd(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = NONE;
}

/* Groups of what is gone cannot be removed any sooner: nobody says when they are empty. */
static void sweep_groups(const char *one_more) {
    for (int n = 0; n < GROUPS_MAX; n++) {
        if (left_groups[n] && (!rmdir(left_groups[n]) || errno != EBUSY)) {
            free(left_groups[n]);
            left_groups[n] = NULL;
        }
        if (left_groups[n] == NULL && one_more) {
            left_groups[n] = strdup(one_more);
            one_more = NULL;
        }
    }
}

void make_groups(int limit) {
    char own[300] = "", path[512], number[32];
    int file = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    ssize_t length = read(file, own, sizeof own - 1);
    close(file);
    if (length < 4 || strncmp(own, "0::", 3)) return;
    own[strcspn(own, "\n")] = 0;
    /* It may have been in its leaf already, when it was killed and started anew by hand. */
    char *leaf = strstr(own, "/agent");
    if (leaf && !leaf[6]) *leaf = 0;
    const char *place = strcmp(own + 3, "/") ? own + 3 : "";
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/agent", place);
    join_group(path); /* the kernel wants processes in leaves alone */
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cgroup.subtree_control", place);
    write_file(path, "+pids");
    snprintf(groups, sizeof groups, "/sys/fs/cgroup%s/" COMMANDS_GROUP, place);
    if (mkdir(groups, 0755) && errno != EEXIST) *groups = 0;
    snprintf(path, sizeof path, "%s/pids.max", groups);
    snprintf(number, sizeof number, "%d", limit);
    if (*groups && limit > 0 && write_file(path, number)) say("%s: %s", path, strerror(errno));
    begun = (unsigned)getpid() << 12; /* names that a former agent did not give */
}

static void name_group(struct stream *stream) {
    if (*groups) snprintf(stream->group, sizeof stream->group, "%s/e%u", groups, ++begun);
}

void start_command(uint32_t id, struct strings request) {
    int in[2], out[2], err[2];
    struct stream *stream = new_stream(id);
    if (stream == NULL) {
        send_status(id, 126);
        return;
    }
    stream->kind = EXEC;
    name_group(stream);
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) exit(1);
    stream->pid = fork();
    if (stream->pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(err[1], 2);
        become(request, stream->group);
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    stream->to = in[1];
    stream->from[0] = out[0];
    stream->from[1] = err[0];
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    fcntl(err[0], F_SETFL, O_NONBLOCK);
    if (stream->pid > 0) return;
    static const char said[] = "benchflow: cannot start: out of processes\n";
    send_frame(ERR, id, said, sizeof said - 1);
    end_process(stream->pid = -2, 126 << 8);
}

void start_porter(uint32_t kind, uint32_t id, const void *path, size_t length) {
    int pair[2];
    struct stream *stream = new_stream(id);
    if (stream == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
        send_status(id, 126);
        return;
    }
    char *place = strndup(path, length);
    stream->kind = (int)kind;
    stream->pid = fork();
    if (stream->pid == 0) {
        signal(SIGPIPE, SIG_DFL);
        dup2(pair[1], 3);
        close_range(4, ~0u, 0); /* the ends of others' pipes among them */
        if (kind == GIVE) give_files(3, place);
        take_files(3, place);
    }
    free(place);
    close(pair[1]);
    stream->to = pair[0];
    stream->from[0] = dup(pair[0]);
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
}

void start_sync(uint32_t id) {
    struct stream *stream = new_stream(id);
    if (stream == NULL) return;
    stream->kind = SYNC;
    stream->pid = fork();
    if (stream->pid == 0) {
        sync();
        _exit(0);
    }
}

void kill_stream(struct stream *stream) {
    char path[600];
    snprintf(path, sizeof path, "%s/cgroup.kill", stream->group);
    if (stream->kind == EXEC && *stream->group) write_file(path, "1");
    if (stream->pid > 0) kill(stream->pid, SIGKILL);
    if (stream->kind == OPEN) stream->has_ended = 1;
}

static void leave(struct stream *stream) {
    close_fd(&stream->to);
    close_fd(&stream->from[0]);
    close_fd(&stream->from[1]);
    stream->is_used = 0;
}

/* Once both sides of a connection have ended, or a transfer's process is gone, so is the stream. */
static void leave_when_done(struct stream *stream) {
    if (stream->from[0] >= 0 || stream->from[1] >= 0) return;
    if (stream->is_drained) leave(stream);
    else if (stream->kind == OPEN && stream->to < 0) leave(stream);
    else if ((stream->kind == GIVE || stream->kind == TAKE) && stream->pid <= 0) leave(stream);
}

void feed(struct stream *stream) {
    uint32_t taken = 0;
    while (stream->to >= 0 && stream->pending.size) {
        ssize_t count = write(stream->to, stream->pending.data, stream->pending.size);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) break;
        if (count < 0) count = (ssize_t)stream->pending.size; /* nobody reads it any more */
        taken += (uint32_t)count;
        drop(&stream->pending, (size_t)count);
    }
    if (taken) send_frame(TAKEN, stream->id, &taken, sizeof taken);
    if (!stream->has_ended || stream->pending.size || stream->to < 0) return;
    if (stream->kind != EXEC) shutdown(stream->to, SHUT_WR);
    close_fd(&stream->to);
    leave_when_done(stream);
}

void read_from(struct stream *stream, int fd) {
    static unsigned char chunk[FRAME_MAX];
    int is_err = fd == stream->from[1];
    size_t most = sizeof chunk;
    if (!stream->is_drained && stream->window <= 0) return; /* its other output took the rest */
    if (!stream->is_drained && stream->window < (int64_t)most) most = (size_t)stream->window;
    ssize_t count = read(fd, chunk, most);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count > 0 && !stream->is_drained) {
        stream->window -= count;
        send_frame(is_err ? ERR : OUT, stream->id, chunk, (size_t)count);
    }
    if (count > 0) return;
    close_fd(&stream->from[is_err]);
    if (stream->kind != EXEC) send_frame(END, stream->id, NULL, 0);
    leave_when_done(stream);
}

/* What a command left in its pipes is taken; what its daemons print from now on is passed over. */
static void end_command(struct stream *stream, uint32_t status) {
    for (int n = 0; n < 2; n++)
        for (int times = 0; times < 64 && stream->from[n] >= 0; times++) {
            unsigned char chunk[4096];
            ssize_t count = read(stream->from[n], chunk, sizeof chunk);
            if (count > 0) send_frame(n ? ERR : OUT, stream->id, chunk, (size_t)count);
            if (count == 0) close_fd(&stream->from[n]);
            if (count <= 0) break;
        }
    send_status(stream->id, status);
    close_fd(&stream->to);
    stream->is_drained = 1;
    stream->pending.size = 0;
    sweep_groups(*stream->group ? stream->group : NULL);
    leave_when_done(stream);
}

void end_process(pid_t pid, int status) {
    uint32_t code = WIFEXITED(status) ? (uint32_t)WEXITSTATUS(status) : 128u + (uint32_t)WTERMSIG(status);
    for (struct stream *stream = streams; stream < streams + STREAMS_MAX; stream++) {
        if (!stream->is_used || stream->pid != pid || stream->is_drained) continue;
        stream->pid = 0;
        if (stream->kind == EXEC) end_command(stream, code);
        if (stream->kind == SYNC) {
            send_status(stream->id, code);
            leave(stream);
        }
        if (stream->kind == GIVE || stream->kind == TAKE) leave_when_done(stream);
    }
}
