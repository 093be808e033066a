#ifndef STREAM_H
#define STREAM_H
#include "agent.h"


#define STREAMS_MAX 1024

struct buffer {
    unsigned char *data;
    size_t size, room;
};

struct stream {
    int is_used, kind;
    uint32_t id;
    pid_t pid;
    int to, from[2]; /* what the host sends goes to, what it gets comes from: stdout, stderr */
    int64_t window;  /* bytes that the host still has room for */
    struct buffer pending;
    int has_ended, is_drained; /* no more comes from the host; nobody wants what is printed */
    char group[512];
};

extern struct stream streams[STREAMS_MAX];
extern struct buffer to_host;

void hold(struct buffer *buffer, const void *data, size_t size);
void drop(struct buffer *buffer, size_t size);
void send_frame(uint32_t kind, uint32_t id, const void *data, size_t size);

struct stream *new_stream(uint32_t id); /* NULL: there are too many */
struct stream *find_stream(uint32_t id);
void make_groups(int limit);
void start_command(uint32_t id, struct strings request);
void start_porter(uint32_t kind, uint32_t id, const void *path, size_t length);
void start_sync(uint32_t id);
void kill_stream(struct stream *stream);
void feed(struct stream *stream);
void read_from(struct stream *stream, int fd);
void end_process(pid_t pid, int status);
#endif
