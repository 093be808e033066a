#include "lade.h"

static int lock(void)
{
    int fd;
    mkdir("var/lib", 0755);
    mkdir(STATE, 0755);
    mkdir(STATE "/db", 0755);
    fd = open(STATE "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int usage(void)
{
    fputs("lade update | install NAME... | upgrade | remove NAME... | rollback\n"
          "     list | files NAME | owner PATH | verify | build RECIPE OUT\n", stderr);
    return USAGE;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int files(const char *name)
{
    struct pkg *pkg = find_installed(name);
    if (!pkg)
        die(IMPOSSIBLE, "%s is not installed", name);
    for (int i = 0; i < pkg->n; i++)
        if (pkg->entries[i].type != 'd')
            printf("/%s\n", pkg->entries[i].path);
    return 0;
}

static int owner(const char *path)
{
    while (*path == '/')
        path++;
    for (int i = 0; i < installed_n; i++)
        for (int j = 0; j < installed[i].n; j++)
            if (installed[i].entries[j].type != 'd' && !strcmp(installed[i].entries[j].path, path))
                return puts(installed[i].name) < 0;
    die(IMPOSSIBLE, "/%s belongs to no package", path);
}

static int verify(void)
{
    struct list found = {0};
    for (int i = 0; i < installed_n; i++) {
        for (int j = 0; j < installed[i].n; j++) {
            struct entry *e = &installed[i].entries[j];
            int config = has(&installed[i].configs, e->path), differs;
            char sum[65], link[PATH_MAX] = "";
            struct stat st;
            if (e->type == 'd')
                continue;
            if (!real_parent(e->path) || lstat(e->path, &st)) {
                if (!config)
                    add(&found, text("%s\tmissing /%s", e->path, e->path));
                continue;
            }
            differs = st.st_uid != e->uid || st.st_gid != e->gid;
            if (e->type == 'l')
                differs |= readlink(e->path, link, sizeof link - 1) < 0 || strcmp(link, e->link);
            else
                differs |= !S_ISREG(st.st_mode) || (st.st_mode & 07777) != e->mode ||
                           (!config && (digest_file(e->path, sum) || strcmp(sum, e->sha)));
            if (differs)
                add(&found, text("%s\tchanged /%s", e->path, e->path));
        }
    }
    if (found.n)
        qsort(found.at, found.n, sizeof *found.at, by_bytes);
    for (int i = 0; i < found.n; i++)
        puts(strchr(found.at[i], '\t') + 1);
    if (found.n)
        fprintf(stderr, "lade: not all is as it was installed\n");
    return found.n != 0;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    int n = argc - 2, changes, held;
    struct { const char *word; int least, most, changes; } *known, words[] = {
        {"update", 0, 0, 1}, {"install", 1, INT_MAX, 1}, {"upgrade", 0, 0, 1},
        {"remove", 1, INT_MAX, 1}, {"rollback", 0, 0, 1}, {"recover", 0, 0, 1},
        {"list", 0, 0, 0}, {"files", 1, 1, 0}, {"owner", 1, 1, 0}, {"verify", 0, 0, 0},
        {"build", 2, 2, 0}, {NULL, 0, 0, 0},
    };
    for (known = words; known->word && strcmp(known->word, word); known++)
        ;
    if (!known->word || n < known->least || n > known->most)
        return usage();
    changes = known->changes;
    if (!strcmp(word, "build")) {
        argv[2] = realpath(argv[2], NULL), argv[3] = realpath(argv[3], NULL);
        if (!argv[2] || !argv[3])
            return usage();
    }
    if (chdir("/"))
        return FAILED;
    umask(022);
    held = lock();
    if (held < 0 && changes) {
        fputs("lade: another lade is at work\n", stderr);
        return BUSY;
    }
    if (held >= 0) {
        recover();
        if (changes)
            setenv("LADE_LOCKED", "1", 1);
        else
            close(held);
    }
    load_installed();
    if (!strcmp(word, "update"))
        update();
    else if (!strcmp(word, "install"))
        install(argv + 2, n, 0);
    else if (!strcmp(word, "upgrade"))
        install(NULL, 0, 1);
    else if (!strcmp(word, "remove"))
        drop(argv + 2, n);
    else if (!strcmp(word, "rollback"))
        roll_back();
    else if (!strcmp(word, "files"))
        return files(argv[2]);
    else if (!strcmp(word, "owner"))
        return owner(argv[2]);
    else if (!strcmp(word, "verify"))
        return verify();
    else if (!strcmp(word, "build"))
        return build(argv[2], argv[3]);
    else if (!strcmp(word, "list"))
        for (int i = 0; i < installed_n; i++)
            printf("%s %s\n", installed[i].name, installed[i].version);
    return 0;
}
