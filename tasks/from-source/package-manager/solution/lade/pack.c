#include "lade.h"

static int number(const char *word, const char *end)
{
    int length = end - word;
    if (length < 1 || length > 9 || (*word == '0' && length > 1))
        return 0;
    while (word < end)
        if (!isdigit((unsigned char)*word++))
            return 0;
    return 1;
}

int is_name(const char *word)
{
    size_t length = strlen(word);
    return length && length <= 40 && islower((unsigned char)*word) &&
           strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789+-") == length;
}

int is_version(const char *word)
{
    for (int i = 0; i < 4; i++) {
        const char *point = strchrnul(word, '.');
        if (!number(word, point))
            return 0;
        if (!*point)
            return 1;
        word = point + 1;
    }
    return 0;
}

int is_need(const char *word)
{
    const char *sign = strstr(word, ">=");
    char name[64];
    if (!sign)
        return is_name(word);
    if ((size_t)(sign - word) >= sizeof name)
        return 0;
    memcpy(name, word, sign - word);
    name[sign - word] = 0;
    return is_name(name) && is_version(sign + 2);
}

int is_path(const char *path)
{
    static const char *const outside[] = {"proc/", "sys/", "dev/", "run/", "tmp/", "var/lib/lade/"};
    const char *part = path;
    for (const char *p = path; *p; p++)
        if (*p < ' ' || *p > '~')
            return 0;
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        if (!strncmp(path, outside[i], strlen(outside[i])))
            return 0;
    for (;;) {
        const char *end = strchrnul(part, '/');
        size_t length = end - part;
        if (!length || (length == 1 && *part == '.') || (length == 2 && !strncmp(part, "..", 2)))
            return 0;
        if (!*end)
            return 1;
        part = end + 1;
    }
}

int compare(const char *a, const char *b)
{
    for (int i = 0; i < 4; i++) {
        long left = strtol(a, (char **)&a, 10), right = strtol(b, (char **)&b, 10);
        if (left != right)
            return left < right ? -1 : 1;
        a += *a == '.';
        b += *b == '.';
    }
    return 0;
}

/* Take a line of a META; 0 when it is none. */
int meta_line(struct pkg *pkg, char *line)
{
    char *value = strchr(line, '=');
    if (!value)
        return 0;
    value++;
    if (!strncmp(line, "name=", 5) && is_name(value) && !pkg->name)
        pkg->name = value;
    else if (!strncmp(line, "version=", 8) && is_version(value) && !pkg->version)
        pkg->version = value;
    else if (!strncmp(line, "needs=", 6) && is_need(value))
        add(&pkg->needs, value);
    else if (!strncmp(line, "conflicts=", 10) && is_name(value))
        add(&pkg->conflicts, value);
    else if (!strncmp(line, "config=", 7) && is_path(value))
        add(&pkg->configs, value);
    else
        return 0;
    return 1;
}

static int sorted(const struct list *list)
{
    for (int i = 1; i < list->n; i++)
        if (strcmp(list->at[i - 1], list->at[i]) >= 0)
            return 0;
    return 1;
}

char *meta_of(const struct pkg *pkg)
{
    char *made = text("name=%s\nversion=%s\n", pkg->name, pkg->version);
    for (int i = 0; i < pkg->needs.n; i++)
        made = text("%sneeds=%s\n", made, pkg->needs.at[i]);
    for (int i = 0; i < pkg->conflicts.n; i++)
        made = text("%sconflicts=%s\n", made, pkg->conflicts.at[i]);
    for (int i = 0; i < pkg->configs.n; i++)
        made = text("%sconfig=%s\n", made, pkg->configs.at[i]);
    return made;
}

/* The one header that there is for a member. */
static void header(char block[512], const char *name, char type, unsigned mode, unsigned uid,
                   unsigned gid, size_t size, const char *target)
{
    unsigned sum = 0;
    memset(block, 0, 512);
    memcpy(block, name, strlen(name));
    sprintf(block + 100, "%07o", mode);
    sprintf(block + 108, "%07o", uid);
    sprintf(block + 116, "%07o", gid);
    sprintf(block + 124, "%011zo", size);
    sprintf(block + 136, "%011o", 0);
    memset(block + 148, ' ', 8);
    block[156] = type;
    memcpy(block + 157, target, strlen(target));
    memcpy(block + 257, "ustar\00000", 8);
    for (int i = 0; i < 512; i++)
        sum += (unsigned char)block[i];
    sprintf(block + 148, "%06o", sum);
}

static struct entry *entry_of(struct pkg *pkg, const char *path)
{
    for (int i = 0; i < pkg->n; i++)
        if (!strcmp(pkg->entries[i].path, path))
            return &pkg->entries[i];
    return NULL;
}

/* Read a package; 0 when it has not the form. The data is kept. */
int unpack(const char *data, size_t size, struct pkg *pkg)
{
    static const char zeros[1024];
    size_t at = 0;
    int members = 0;
    memset(pkg, 0, sizeof *pkg);
    if (size % 512 || size < 2048)
        return 0;
    while (at + 512 <= size && memcmp(data + at, zeros, 512)) {
        char name[101] = "", target[101] = "", again[512], *path;
        unsigned mode, uid, gid;
        const char *head = data + at;
        struct entry *entry;
        size_t length;
        memcpy(name, head, 100);
        memcpy(target, head + 157, 100);
        mode = strtoul(head + 100, NULL, 8);
        uid = strtoul(head + 108, NULL, 8);
        gid = strtoul(head + 116, NULL, 8);
        length = strtoull(head + 124, NULL, 8);
        if (!strchr("025", head[156]) || !head[156] || mode > 07777 || uid > 07777777 ||
            gid > 07777777 || length > size)
            return 0;
        header(again, name, head[156], mode, uid, gid, length, target);
        if (memcmp(again, head, 512))
            return 0;
        at += 512;
        if (at + (length + 511) / 512 * 512 > size ||
            memcmp(data + at + length, zeros, -length & 511))
            return 0;
        if (members++ == 0) {
            char *meta = strndup(data + at, length), *next;
            if (strcmp(name, "META") || mode != 0644 || uid || gid || head[156] != '0')
                return 0;
            if (strlen(meta) != length)
                return 0;
            for (; *meta; meta = next) {
                if (!(next = strchr(meta, '\n')))
                    return 0;
                *next++ = 0;
                if (!meta_line(pkg, meta))
                    return 0;
            }
            if (!pkg->name || !pkg->version || !sorted(&pkg->needs) || !sorted(&pkg->conflicts) ||
                !sorted(&pkg->configs))
                return 0;
            meta = meta_of(pkg);
            if (strlen(meta) != length || memcmp(meta, data + at, length))
                return 0;
        } else if (members == 2 && !strcmp(name, "CHECK")) {
            if (mode != 0755 || uid || gid || head[156] != '0')
                return 0;
            pkg->check = data + at;
            pkg->check_size = length;
        } else {
            if (strncmp(name, "root/", 5))
                return 0;
            path = strdup(name + 5);
            if (head[156] == '5') {
                size_t end = strlen(path);
                if (!end || path[end - 1] != '/')
                    return 0;
                path[end - 1] = 0;
            }
            if (!is_path(path))
                return 0;
            if (head[156] != '0' && length)
                return 0;
            if ((head[156] == '2') != (*target != 0) || (head[156] == '2' && mode != 0777))
                return 0;
            if (pkg->n && strcmp(pkg->entries[pkg->n - 1].path, path) >= 0)
                return 0;
            if (strrchr(path, '/')) {
                char *parent = strndup(path, strrchr(path, '/') - path);
                entry = entry_of(pkg, parent);
                if (!entry || entry->type != 'd')
                    return 0;
            }
            pkg->entries = grow(pkg->entries, pkg->n, sizeof *pkg->entries);
            entry = &pkg->entries[pkg->n++];
            entry->type = head[156] == '0' ? 'f' : head[156] == '2' ? 'l' : 'd';
            entry->mode = mode, entry->uid = uid, entry->gid = gid, entry->size = length;
            entry->data = data + at;
            entry->path = path;
            entry->link = strdup(target);
            strcpy(entry->sha, "-");
            if (entry->type == 'f')
                digest(entry->data, length, entry->sha);
        }
        at += (length + 511) / 512 * 512;
    }
    if (!members || size - at != 1024 || memcmp(data + at, zeros, 1024))
        return 0;
    for (int i = 0; i < pkg->configs.n; i++) {
        struct entry *entry = entry_of(pkg, pkg->configs.at[i]);
        if (!entry || entry->type != 'f')
            return 0;
    }
    return 1;
}

/* ---- building ---- */

static char *folder;

static int failed(int status, const char *why)
{
    fprintf(stderr, "lade: %s\n", why);
    wipe(folder);
    return status;
}

static void member(FILE *out, const char *name, char type, unsigned mode, const void *data,
                   size_t size, const char *target)
{
    char block[512];
    header(block, name, type, mode, 0, 0, size, target);
    fwrite(block, 512, 1, out);
    fwrite(data, 1, size, out);
    memset(block, 0, 512);
    fwrite(block, 1, -size & 511, out);
}

static int walk(const char *top, const char *inside, struct list *found)
{
    DIR *dir = opendir(text("%s/%s", top, inside));
    struct dirent *item;
    int fine = dir != NULL;
    while (dir && fine && (item = readdir(dir))) {
        struct stat st;
        char *path;
        if (!strcmp(item->d_name, ".") || !strcmp(item->d_name, ".."))
            continue;
        path = text("%s%s%s", inside, *inside ? "/" : "", item->d_name);
        add(found, path);
        if (lstat(text("%s/%s", top, path), &st))
            fine = 0;
        else if (S_ISDIR(st.st_mode))
            fine = is_path(path) && strlen(path) <= 94 && walk(top, path, found);
        else
            fine = is_path(path) && strlen(path) <= 95 && (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode));
    }
    if (dir)
        closedir(dir);
    return fine;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int build(const char *recipe, const char *out)
{
    struct pkg pkg = {0};
    struct list sources = {0}, sums = {0}, found = {0};
    struct stat st;
    size_t size;
    char *line, *next, *whole, *check, *source, *dest, *where, *package, *target, *here;
    char *data = slurp(text("%s/recipe", recipe), NULL);
    int sourcing = 0, status, null;
    pid_t child;
    FILE *file;

    umask(022);
    folder = "/nonexistent";
    if (!data || stat(out, &st) || !S_ISDIR(st.st_mode))
        return failed(USAGE, "no recipe, or no such folder");
    if (!(here = realpath(recipe, NULL)))
        return failed(USAGE, "no recipe");
    whole = strdup(data);
    for (line = data; *line; line = next) {
        if (!(next = strchr(line, '\n')))
            return failed(USAGE, "recipe: a line does not end");
        *next++ = 0;
        if (!strncmp(line, "source=", 7)) {
            char *sum = strchr(line, ' ');
            sourcing = 1;
            if (!sum || strlen(sum + 1) != 64 || strspn(sum + 1, "0123456789abcdef") != 64)
                return failed(USAGE, "recipe: a source has no sum");
            *sum++ = 0;
            if (!line[7] || strchr(line + 7, '/') || !is_path(line + 7))
                return failed(USAGE, "recipe: a source is no plain file");
            add(&sources, line + 7);
            add(&sums, sum);
        } else if (sourcing || !meta_line(&pkg, line))
            return failed(USAGE, "recipe: not a line of a recipe");
    }
    if (!pkg.name || !pkg.version || !sorted(&pkg.needs) || !sorted(&pkg.conflicts) ||
        !sorted(&pkg.configs) || strncmp(meta_of(&pkg), whole, strlen(meta_of(&pkg))))
        return failed(USAGE, "recipe: its order is wrong");
    if (stat(text("%s/build", recipe), &st))
        return failed(USAGE, "recipe: no build");

    folder = text("/tmp/lade-build.XXXXXX");
    if (!mkdtemp(folder))
        return failed(NO_ROOM, "no room to build");
    source = text("%s/source", folder), dest = text("%s/dest", folder);
    if (mkdir(source, 0755) || mkdir(dest, 0755))
        return failed(NO_ROOM, "no room to build");
    for (int i = 0; i < sources.n; i++) {
        char sum[65];
        where = text("%s/%s", here, sources.at[i]);
        if (lstat(where, &st) || !S_ISREG(st.st_mode) || !(data = slurp(where, &size)))
            return failed(DAMAGED, text("%s is missing", sources.at[i]));
        digest(data, size, sum);
        if (strcmp(sum, sums.at[i]))
            return failed(DAMAGED, text("%s is another", sources.at[i]));
        if (spit(text("%s/%s", source, sources.at[i]), data, size, 0644))
            return failed(NO_ROOM, "no room to build");
    }
    fflush(NULL);
    if (!(child = fork())) {
        char *const env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", "LC_ALL=C",
                             text("DEST=%s", dest), NULL};
        null = open("/dev/null", O_RDONLY);
        dup2(null, 0);
        dup2(2, 1);
        if (chdir(source))
            _exit(1);
        execle("/bin/sh", "sh", "-e", text("%s/build", here), (char *)NULL, env);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status)
        return failed(FAILED, "the build failed");
    if (!walk(dest, "", &found))
        return failed(FAILED, "what was built cannot be packed");
    qsort(found.at, found.n, sizeof *found.at, by_bytes);
    for (int i = 0; i < pkg.configs.n; i++)
        if (lstat(text("%s/%s", dest, pkg.configs.at[i]), &st) || !S_ISREG(st.st_mode))
            return failed(FAILED, text("%s is not there", pkg.configs.at[i]));

    package = text("%s/package", folder);
    if (!(file = fopen(package, "w")))
        return failed(NO_ROOM, "no room to build");
    member(file, "META", '0', 0644, meta_of(&pkg), strlen(meta_of(&pkg)), "");
    if ((check = slurp(text("%s/check", here), &size)))
        member(file, "CHECK", '0', 0755, check, size, "");
    for (int i = 0; i < found.n; i++) {
        char link[128] = "";
        where = text("%s/%s", dest, found.at[i]);
        lstat(where, &st);
        if (S_ISDIR(st.st_mode))
            member(file, text("root/%s/", found.at[i]), '5', st.st_mode & 07777, "", 0, "");
        else if (S_ISLNK(st.st_mode)) {
            ssize_t length = readlink(where, link, sizeof link - 1);
            if (length < 1 || length > 100)
                return failed(FAILED, "a link is too long");
            member(file, text("root/%s", found.at[i]), '2', 0777, "", 0, link);
        } else {
            data = slurp(where, &size);
            member(file, text("root/%s", found.at[i]), '0', st.st_mode & 07777, data, size, "");
            free(data);
        }
    }
    for (int i = 0; i < 1024; i++)
        fputc(0, file);
    if (ferror(file) | fclose(file) || !(data = slurp(package, &size)))
        return failed(NO_ROOM, "no room to build");
    where = text("%s/%s-%s.pkg", out, pkg.name, pkg.version);
    target = text("%s/.lade-build.%d", out, (int)getpid());
    if (spit(target, data, size, 0644) || rename(target, where)) {
        unlink(target);
        return failed(NO_ROOM, "no room for the package");
    }
    wipe(folder);
    return 0;
}
