#include "lade.h"
#include "crypto_api.h"

struct pkg *installed;
int installed_n;

/* ---- what is installed ---- */

char *db_text(const struct pkg *pkg)
{
    char *made;
    size_t size;
    FILE *out = open_memstream(&made, &size);
    fputs(meta_of(pkg), out);
    for (int i = 0; i < pkg->n; i++) {
        const struct entry *e = &pkg->entries[i];
        fprintf(out, "%c\t%o\t%u\t%u\t%s\t%s\t%s\n", e->type, e->mode, e->uid, e->gid, e->sha,
                e->path, e->link);
    }
    fclose(out);
    return made;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct pkg *)a)->name, ((const struct pkg *)b)->name);
}

void load_installed(void)
{
    DIR *dir = opendir(STATE "/db");
    struct dirent *item;
    while (dir && (item = readdir(dir))) {
        struct pkg *pkg;
        char *data, *next;
        if (*item->d_name == '.' || !(data = slurp(text(STATE "/db/%s", item->d_name), NULL)))
            continue;
        installed = grow(installed, installed_n, sizeof *installed);
        pkg = &installed[installed_n++];
        for (; *data; data = next) {
            char *field[7];
            struct entry *e;
            if (!(next = strchr(data, '\n')))
                break;
            *next++ = 0;
            if (!strchr(data, '\t')) {
                meta_line(pkg, data);
                continue;
            }
            if (cut(data, '\t', field, 7) != 7)
                continue;
            pkg->entries = grow(pkg->entries, pkg->n, sizeof *pkg->entries);
            e = &pkg->entries[pkg->n++];
            e->type = *field[0];
            e->mode = strtoul(field[1], NULL, 8);
            e->uid = strtoul(field[2], NULL, 10);
            e->gid = strtoul(field[3], NULL, 10);
            strncpy(e->sha, field[4], 64);
            e->path = field[5], e->link = field[6];
        }
        if (!pkg->name || !pkg->version)
            installed_n--;
    }
    if (dir)
        closedir(dir);
    if (installed_n)
        qsort(installed, installed_n, sizeof *installed, by_name);
}

struct pkg *find_installed(const char *name)
{
    for (int i = 0; i < installed_n; i++)
        if (!strcmp(installed[i].name, name))
            return &installed[i];
    return NULL;
}

/* ---- configuration ---- */

static char *repository;
static struct list keys;

static void configure(void)
{
    char *own = getenv("LADE_CONF"), *data = slurp(own ? own : "etc/lade.conf", NULL), *line;
    if (!data)
        die(UNREACHABLE, "/etc/lade.conf cannot be read");
    while ((line = strsep(&data, "\n"))) {
        if (!strncmp(line, "repository=", 11))
            repository = line + 11;
        else if (!strncmp(line, "key=", 4) && strlen(line + 4) == 64)
            add(&keys, line + 4);
    }
    if (!repository)
        die(UNREACHABLE, "/etc/lade.conf names no repository");
}

/* Fetch a file of the repository to a path of ours; its content. */
static char *get(const char *file, const char *to, size_t *size)
{
    struct statvfs room;
    char *data, *url;
    configure();
    mkdir(STATE "/fetch", 0700);
    url = text("%s/%s", repository, file);
    if (!strncmp(repository, "http://", 7)) {
        char *argv[] = {"/usr/bin/wget", "-q", "-T", "10", "-O", (char *)to, url, NULL};
        if (run(argv, 0)) {
            if (!statvfs(STATE, &room) && room.f_bavail < 16)
                die(NO_ROOM, "no room for %s", file);
            die(UNREACHABLE, "%s cannot be fetched", url);
        }
    } else {
        if (!(data = slurp(url, size)) || spit(to, data, *size, 0600))
            die(UNREACHABLE, "%s cannot be read", url);
        free(data);
    }
    if (!(data = slurp(to, size)))
        die(UNREACHABLE, "%s was not fetched", url);
    return data;
}

/* ---- the index ---- */

static int take(struct list *list, char *words, int (*good)(const char *))
{
    char *word;
    if (!strcmp(words, "-"))
        return 1;
    while ((word = strsep(&words, ","))) {
        if (!good(word))
            return 0;
        add(list, word);
    }
    return 1;
}

static int read_number(const char *word, long *value)
{
    size_t length = strlen(word);
    if (!length || length > 9 || strspn(word, "0123456789") != length || (*word == '0' && length > 1))
        return 0;
    *value = atol(word);
    return 1;
}

static int parse(char *data, size_t size, struct index *index)
{
    char *line, *next;
    int n = 0;
    memset(index, 0, sizeof *index);
    if (strlen(data) != size)
        return 0;
    for (line = data; *line; line = next, n++) {
        char *field[6];
        struct line *made;
        long length;
        if (!(next = strchr(line, '\n')))
            return 0;
        *next++ = 0;
        if (n == 0) {
            if (strcmp(line, "lade-index 1"))
                return 0;
        } else if (n == 1) {
            if (strncmp(line, "serial ", 7) || !read_number(line + 7, &index->serial))
                return 0;
        } else {
            if (cut(line, ' ', field, 6) != 6 || !is_name(field[0]) || !is_version(field[1]) ||
                !read_number(field[2], &length) || strlen(field[3]) != 64 ||
                strspn(field[3], "0123456789abcdef") != 64)
                return 0;
            if (index->n && strcmp(index->lines[index->n - 1].name, field[0]) >= 0)
                return 0;
            index->lines = grow(index->lines, index->n, sizeof *index->lines);
            made = &index->lines[index->n++];
            made->name = field[0], made->version = field[1], made->size = length;
            made->sha = field[3];
            if (!take(&made->needs, field[4], is_need) ||
                !take(&made->conflicts, field[5], is_name))
                return 0;
        }
    }
    return n >= 2;
}

int load_index(struct index *index)
{
    size_t size;
    char *data = slurp(STATE "/INDEX", &size);
    return data && parse(data, size, index);
}

struct line *find_line(struct index *index, const char *name)
{
    for (int i = 0; i < index->n; i++)
        if (!strcmp(index->lines[i].name, name))
            return &index->lines[i];
    return NULL;
}

static int ours(const char *data, size_t size, const char *signature)
{
    unsigned char *together = malloc(size + 64), *opened = malloc(size + 64);
    memcpy(together, signature, 64);
    memcpy(together + 64, data, size);
    for (int i = 0; i < keys.n; i++) {
        unsigned char key[32];
        unsigned long long length;
        unsigned byte;
        int fine = 1;
        for (int j = 0; j < 32; j++) {
            fine &= sscanf(keys.at[i] + 2 * j, "%2x", &byte) == 1;
            key[j] = byte;
        }
        if (fine && !crypto_sign_ed25519_open(opened, &length, together, size + 64, key))
            return 1;
    }
    return 0;
}

void update(void)
{
    struct index old, new;
    size_t size, signature_size;
    char *data = get("INDEX", STATE "/fetch/INDEX", &size), *copy;
    char *signature = get("INDEX.sig", STATE "/fetch/INDEX.sig", &signature_size);
    if (signature_size != 64 || !ours(data, size, signature))
        die(UNSIGNED, "the index is not signed by us");
    copy = memcpy(malloc(size + 1), data, size + 1);
    if (!parse(copy, size, &new))
        die(UNSIGNED, "the index has another form");
    if (load_index(&old) && new.serial < old.serial)
        die(UNSIGNED, "the index is older than the one that we have");
    if (spit(STATE "/INDEX.new", data, size, 0644)) {
        unlink(STATE "/INDEX.new");
        die(NO_ROOM, "no room for the index");
    }
    settle();
    rename(STATE "/INDEX.new", STATE "/INDEX");
    wipe(STATE "/fetch");
    settle();
}

char *fetch(const struct line *line, size_t *size)
{
    char *file = text("%s-%s.pkg", line->name, line->version), sum[65];
    char *data = get(file, text(STATE "/fetch/%s", file), size);
    digest(data, *size, sum);
    if (*size != line->size || strcmp(sum, line->sha))
        die(DAMAGED, "%s is not what the index says", file);
    unlink(text(STATE "/fetch/%s", file));
    return data;
}
