/* Hands files in and out, one entry after another, in a process of its own. What is in an entry:
 * kind, path, mode, time; a link's target; a file's size and its pieces, so that holes stay holes. */
#include "agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE (256 * 1024)

struct made {
    char *path;
    mode_t mode;
};
static struct made *directories;
static size_t n_directories;
static FILE *in, *out;
static char piece[PIECE];

/* A descriptor is held for each folder above, and a path has room for some two thousand. */
static void open_channel(int fd) {
    struct rlimit most = {8192, 8192};
    setrlimit(RLIMIT_NOFILE, &most);
    in = fdopen(fd, "r");
    out = fdopen(dup(fd), "w");
    setvbuf(in, NULL, _IOFBF, 1 << 16);
    setvbuf(out, NULL, _IOFBF, 1 << 16);
}

static void put(const void *data, size_t size) {
    if (size && fwrite(data, size, 1, out) != 1) _exit(1);
}
static void put32(uint32_t value) { put(&value, sizeof value); }
static void put64(uint64_t value) { put(&value, sizeof value); }

static void failed(int error, const char *what) {
    put("e", 1);
    put32((uint32_t)error);
    put32((uint32_t)strlen(what));
    put(what, strlen(what));
    fflush(out);
    _exit(0);
}

static void put_entry(char kind, const char *path, const struct stat *info) {
    put(&kind, 1);
    put32((uint32_t)strlen(path));
    put(path, strlen(path));
    put32(info->st_mode & 07777);
    put64((uint64_t)info->st_mtim.tv_sec * 1000000000u + (uint64_t)info->st_mtim.tv_nsec);
}

static void put_data(int file, off_t size) {
    off_t at = 0;
    put64((uint64_t)size);
    while (at < size) {
        off_t start = lseek(file, at, SEEK_DATA);
        if (start < 0 && errno == ENXIO) break; /* a hole to the end */
        if (start < 0) start = at;
        off_t end = lseek(file, start, SEEK_HOLE);
        if (end < 0 || end > size) end = size;
        for (at = start; at < end;) {
            size_t most = end - at < PIECE ? (size_t)(end - at) : PIECE;
            ssize_t count = pread(file, piece, most, at);
            if (count < 0) failed(errno, strerror(errno));
            if (count == 0) { /* it shrank meanwhile */
                at = size;
                break;
            }
            put64((uint64_t)at);
            put32((uint32_t)count);
            put(piece, (size_t)count);
            at += count;
        }
    }
    put64(0);
    put32(0);
}

static int by_name(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static char **names_in(int directory) {
    size_t count = 0, room = 0;
    char **names = NULL;
    DIR *entries = fdopendir(dup(directory));
    if (entries == NULL) failed(errno, strerror(errno));
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        if (count + 1 >= room) names = realloc(names, (room = 2 * room + 64) * sizeof *names);
        if (names == NULL) failed(ENOMEM, "out of memory");
        names[count++] = strdup(entry->d_name);
    }
    closedir(entries);
    if (names == NULL) return calloc(1, sizeof *names);
    names[count] = NULL;
    qsort(names, count, sizeof *names, by_name);
    return names;
}

static void give(int above, const char *name, const char *path) {
    struct stat info;
    static char target[PATH_MAX + 1]; /* a tree may be deep, and the stack is not */
    if (strlen(path) >= PATH_MAX) failed(ENAMETOOLONG, "path too long");
    if (fstatat(above, name, &info, AT_SYMLINK_NOFOLLOW)) failed(errno, strerror(errno));
    if (S_ISLNK(info.st_mode)) {
        ssize_t length = readlinkat(above, name, target, PATH_MAX);
        if (length < 0) failed(errno, strerror(errno));
        put_entry('l', path, &info);
        put32((uint32_t)length);
        put(target, (size_t)length);
    } else if (S_ISDIR(info.st_mode)) {
        int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        int directory = openat(above, name, flags);
        if (directory < 0) failed(errno, strerror(errno));
        put_entry('d', path, &info);
        char **names = names_in(directory);
        for (size_t n = 0; names[n]; n++) {
            char *below = malloc(strlen(path) + strlen(names[n]) + 2);
            sprintf(below, *path ? "%s/%s" : "%s%s", path, names[n]);
            give(directory, names[n], below);
            free(below);
            free(names[n]);
        }
        free(names);
        close(directory);
    } else if (S_ISREG(info.st_mode)) {
        /* What was a file a moment ago may be a fifo by now: never block on it. */
        int file = openat(above, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (file < 0 || fstat(file, &info)) failed(errno, strerror(errno));
        if (S_ISREG(info.st_mode)) {
            put_entry('f', path, &info);
            put_data(file, info.st_size);
        }
        close(file);
    } else {
        put_entry('s', path, &info);
    }
}

void give_files(int fd, const char *path) {
    char *folder = strdup(path), *last = strdup(path);
    open_channel(fd);
    int above = open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (above < 0) failed(errno, strerror(errno));
    char *name = basename(last);
    give(above, strcmp(name, "/") ? name : ".", "");
    put("z", 1);
    fflush(out);
    _exit(0);
}

static void get(void *data, size_t size) {
    if (size && fread(data, size, 1, in) != 1) _exit(1);
}
static uint32_t get32(void) {
    uint32_t value;
    get(&value, sizeof value);
    return value;
}
static uint64_t get64(void) {
    uint64_t value;
    get(&value, sizeof value);
    return value;
}
static char *get_text(void) {
    uint32_t length = get32();
    if (length > 1 << 20) _exit(1);
    char *text = malloc(length + 1);
    get(text, length);
    text[length] = 0;
    return text;
}

/* Read what is still on its way, so that the host can end; then say what was wrong. */
static void refuse_all(int error, const char *what) {
    while (fread(piece, 1, sizeof piece, in) > 0) continue;
    failed(error, what);
}

static void clear(const char *target) {
    struct stat info;
    char text[PATH_MAX + 64];
    if (lstat(target, &info)) return;
    if (S_ISDIR(info.st_mode)) {
        snprintf(text, sizeof text, "%s is a directory", target);
        refuse_all(EISDIR, text);
    }
    if (unlink(target)) refuse_all(errno, strerror(errno));
}

static void make_parents(const char *path) {
    char *copy = strdup(path);
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(copy, 0755) && errno != EEXIST) refuse_all(errno, strerror(errno));
        *slash = '/';
    }
    free(copy);
}

static void take_directory(const char *target, mode_t mode, int is_top) {
    struct stat there, link;
    int missing = stat(target, &there) || !S_ISDIR(there.st_mode);
    int is_link = !lstat(target, &link) && S_ISLNK(link.st_mode);
    if (!missing && (is_top || !is_link)) return;
    clear(target);
    if (mkdir(target, 0700)) refuse_all(errno, strerror(errno));
    directories = realloc(directories, (n_directories + 1) * sizeof *directories);
    directories[n_directories++] = (struct made){strdup(target), mode};
}

static void take_file(const char *target, mode_t mode, uint64_t time) {
    uint64_t size = get64();
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    clear(target);
    int file = open(target, flags, 0600);
    if (file < 0 || ftruncate(file, (off_t)size)) refuse_all(errno, strerror(errno));
    for (;;) {
        uint64_t at = get64();
        uint32_t length = get32();
        if (length == 0) break;
        if (length > PIECE) _exit(1);
        get(piece, length);
        for (uint32_t done = 0; done < length;) {
            ssize_t count = pwrite(file, piece + done, length - done, (off_t)(at + done));
            if (count <= 0) refuse_all(count ? errno : EIO, strerror(count ? errno : EIO));
            done += (uint32_t)count;
        }
    }
    struct timespec stamp = {(time_t)(time / 1000000000u), (long)(time % 1000000000u)};
    struct timespec both[2] = {stamp, stamp};
    if (fchmod(file, mode) || futimens(file, both)) refuse_all(errno, strerror(errno));
    if (close(file)) refuse_all(errno, strerror(errno));
}

static void take_entry(char kind, const char *top) {
    char *path = get_text();
    mode_t mode = get32();
    uint64_t time = get64();
    char *target = malloc(strlen(top) + strlen(path) + 2);
    sprintf(target, *path ? "%s/%s" : "%s%s", strcmp(top, "/") || !*path ? top : "", path);
    if (kind == 'd') take_directory(target, mode, !*path);
    if (kind == 'l') {
        char *goal = get_text();
        clear(target);
        if (symlink(goal, target)) refuse_all(errno, strerror(errno));
        free(goal);
    }
    if (kind == 'f') take_file(target, mode, time);
    free(path);
    free(target);
}

void take_files(int fd, const char *top) {
    char kind;
    open_channel(fd);
    make_parents(top);
    for (get(&kind, 1); kind != 'z'; get(&kind, 1)) take_entry(kind, top);
    while (n_directories--) chmod(directories[n_directories].path, directories[n_directories].mode);
    put("z", 1);
    fflush(out);
    _exit(0);
}
