#include "lade.h"
#include "sha2.h"

void die(int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("lade: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    if (active)
        undo();
    else if (active == 0 && getenv("LADE_LOCKED")) {
        wipe(STATE "/stage");
        wipe(STATE "/fetch");
    }
    exit(status);
}

void *grow(void *array, int n, size_t size)
{
    if (n == 0 || (n >= 16 && (n & (n - 1)) == 0))
        array = realloc(array, (n ? 2 * n : 16) * size);
    if (!array)
        die(NO_ROOM, "no memory");
    memset((char *)array + n * size, 0, size);
    return array;
}

char *text(const char *format, ...)
{
    char *made;
    va_list args;
    va_start(args, format);
    if (vasprintf(&made, format, args) < 0)
        die(NO_ROOM, "no memory");
    return made;
}

void add(struct list *list, char *word)
{
    list->at = grow(list->at, list->n, sizeof *list->at);
    list->at[list->n++] = word;
}

int has(const struct list *list, const char *word)
{
    for (int i = 0; i < list->n; i++)
        if (!strcmp(list->at[i], word))
            return 1;
    return 0;
}

int same(const struct list *a, const struct list *b)
{
    if (a->n != b->n)
        return 0;
    for (int i = 0; i < a->n; i++)
        if (strcmp(a->at[i], b->at[i]))
            return 0;
    return 1;
}

/* Cut a line into exactly `max` fields in place; their number. */
int cut(char *line, char by, char **fields, int max)
{
    int n = 0;
    for (;;) {
        char *next = strchr(line, by);
        if (n == max)
            return max + 1;
        fields[n++] = line;
        if (!next)
            return n;
        *next = 0;
        line = next + 1;
    }
}

char *slurp(const char *path, size_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char *data;
    size_t got = 0;
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !(data = malloc(st.st_size + 1))) {
        close(fd);
        return NULL;
    }
    while (got < (size_t)st.st_size) {
        ssize_t n = read(fd, data + got, st.st_size - got);
        if (n <= 0)
            break;
        got += n;
    }
    close(fd);
    data[got] = 0;
    if (size)
        *size = got;
    return data;
}

int spit(const char *path, const void *data, size_t size, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const char *p = data;
    if (fd < 0)
        return -1;
    while (size) {
        ssize_t n = write(fd, p, size);
        if (n <= 0) {
            close(fd);
            return -1;
        }
        p += n, size -= n;
    }
    if (fchmod(fd, mode)) {
        close(fd);
        return -1;
    }
    return close(fd);
}

void wipe(const char *path)
{
    DIR *dir;
    struct dirent *item;
    if (!unlink(path) || errno == ENOENT)
        return;
    if (!(dir = opendir(path)))
        return;
    while ((item = readdir(dir))) {
        if (strcmp(item->d_name, ".") && strcmp(item->d_name, "..")) {
            char *inner = text("%s/%s", path, item->d_name);
            wipe(inner);
            free(inner);
        }
    }
    closedir(dir);
    rmdir(path);
}

/* All that was written so far is on the disk. */
void settle(void)
{
    int fd = open(STATE, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || syncfs(fd))
        sync();
    if (fd >= 0)
        close(fd);
}

void digest(const void *data, size_t size, char hex[65])
{
    SHA2_CTX state;
    unsigned char raw[32];
    SHA256Init(&state);
    SHA256Update(&state, data, size);
    SHA256Final(raw, &state);
    for (int i = 0; i < 32; i++)
        sprintf(hex + 2 * i, "%02x", raw[i]);
}

int digest_file(const char *path, char hex[65])
{
    size_t size;
    struct stat st;
    char *data;
    if (lstat(path, &st) || !S_ISREG(st.st_mode) || !(data = slurp(path, &size)))
        return -1;
    digest(data, size, hex);
    free(data);
    return 0;
}

/* Run a program with its output on our standard error; its status, -1 when it was stopped. */
int run(char **argv, int seconds)
{
    int status, waited = 0;
    sigset_t set;
    pid_t parent = getpid(), child = fork();
    if (child < 0)
        die(NO_ROOM, "no process");
    if (!child) {
        int null = open("/dev/null", O_RDONLY);
        dup2(null, 0);
        dup2(2, 1);
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(127);
        sigemptyset(&set);
        sigprocmask(SIG_SETMASK, &set, NULL);
        execv(argv[0], argv);
        _exit(127);
    }
    setpgid(child, child);
    for (;;) {
        pid_t done = waitpid(child, &status, seconds ? WNOHANG : 0);
        if (done == child)
            break;
        if (waited++ >= seconds * 20) {
            kill(-child, SIGKILL);
            waitpid(child, &status, 0);
            return -1;
        }
        usleep(50000);
    }
    kill(-child, SIGKILL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
