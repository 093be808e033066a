/*
 * ledgerd - keeps the ledger of a unit and answers for it on the network.
 *
 *   ledgerd -d DIRECTORY [-p PORT]
 *
 * Stays in the foreground, logs to syslog (facility daemon), stops on SIGTERM.
 * What it promises is in MANUAL beside this file.
 *
 * Built on Red Hat 5 and Debian lenny, both with glibc:
 *   cc -O2 -D_GNU_SOURCE -pthread -I../seal ledgerd.c -o ledgerd
 */
#include <sys/cdefs.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include <seal.h>

__BEGIN_DECLS
int seal_quote(const void *challenge, size_t len, struct seal_quote *out);
__END_DECLS

#define LINE_LIMIT 512
#define BATCH (256 * 1024)

struct record {
	TAILQ_ENTRY(record) all;
	char *key, *value;
};
static TAILQ_HEAD(, record) records = TAILQ_HEAD_INITIALIZER(records);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long count;
static const char *opened = "new";
static int journal = -1;

static unsigned checksum(const char *s)
{
	unsigned sum = 5381;

	while (*s)
		sum = sum * 33 + (unsigned char)*s++;
	return sum;
}

static void remember(const char *key, const char *value)
{
	struct record *r;

	TAILQ_FOREACH(r, &records, all)
		if (!strcmp(r->key, key)) {
			free(r->value);
			r->value = strdup(value);
			count++;
			return;
		}
	if (!(r = malloc(sizeof(*r))))
		error(1, errno, "malloc");
	r->key = strdup(key);
	r->value = strdup(value);
	TAILQ_INSERT_TAIL(&records, r, all);
	count++;
}

/* Journal lines, each with its checksum: "P KEY VALUE", "O COUNT" opened, "C COUNT" closed. */
static void append(const char *text)
{
	char line[LINE_LIMIT + 64];
	int n = snprintf(line, sizeof(line), "%s %08x\n", text, checksum(text));

	if (TEMP_FAILURE_RETRY(write(journal, line, n)) != n || fsync(journal) < 0) {
		syslog(LOG_ERR, "journal: %m");
		error(1, errno, "journal");
	}
}

static void replay(void)
{
	FILE *f = fdopen(dup(journal), "r");
	char line[LINE_LIMIT + 64], key[64], value[LINE_LIMIT];
	off_t good = 0;
	int closed = 0;

	while (fgets(line, sizeof(line), f)) {
		char *end = strrchr(line, ' ');

		if (!end || !strchr(end, '\n'))
			break;
		*end++ = '\0';
		if (strtoul(end, NULL, 16) != checksum(line))
			break;
		closed = line[0] == 'C';
		if (sscanf(line, "P %63s %511s", key, value) == 2)
			remember(key, value);
		good = ftello(f);
	}
	fclose(f);
	if (good)
		opened = closed ? "clean" : "recovered";
	if (ftruncate(journal, good) < 0 || lseek(journal, good, SEEK_SET) < 0)
		error(1, errno, "journal");
	snprintf(line, sizeof(line), "O %lu", count);
	append(line);
}

static void answer(FILE *out, char *line)
{
	char text[LINE_LIMIT + 16], key[80], value[LINE_LIMIT];
	struct seal_quote q;
	struct record *r;

	if (sscanf(line, "PUT %63s %447s", key, value) == 2) {
		snprintf(text, sizeof(text), "P %s %s", key, value);
		append(text);
		remember(key, value);
		fprintf(out, "OK %lu\n", count);
	} else if (sscanf(line, "GET %63s", key) == 1) {
		TAILQ_FOREACH(r, &records, all)
			if (!strcmp(r->key, key))
				break;
		if (r)
			fprintf(out, "VALUE %s\n", r->value);
		else
			fprintf(out, "NONE\n");
	} else if (!strcmp(line, "COUNT")) {
		fprintf(out, "COUNT %lu\n", count);
	} else if (sscanf(line, "SEAL %64s", key) == 1) {
		if (seal_quote(key, strlen(key), &q) < 0)
			fprintf(out, "ERROR %s\n", strerror(errno));
		else
			fprintf(out, "seal1 %llu %016llx\n",
				(unsigned long long)q.count, (unsigned long long)q.tag);
	} else if (sscanf(line, "NOTE %447s", value) == 1) {
		syslog(LOG_NOTICE, "note %s", value);
		fprintf(out, "OK\n");
	} else if (!strcmp(line, "WHO")) {
		fprintf(out, "WHO uid=%d gid=%d pid=%d opened=%s\n",
			(int)getuid(), (int)getgid(), (int)getpid(), opened);
	} else {
		fprintf(out, "ERROR what?\n");
	}
}

static void *serve(void *arg)
{
	int fd = (int)(long)arg;
	char batch[BATCH];
	size_t have = 0;
	FILE *out = fdopen(fd, "w");

	for (;;) {
		ssize_t n = TEMP_FAILURE_RETRY(read(fd, batch + have, BATCH - have));
		char *line = batch, *end;

		if (n <= 0)
			break;
		have += n;
		while ((end = memchr(line, '\n', batch + have - line))) {
			*end = '\0';
			if (end > line && end[-1] == '\r')
				end[-1] = '\0';
			pthread_mutex_lock(&lock);
			answer(out, line);
			pthread_mutex_unlock(&lock);
			line = end + 1;
		}
		fflush(out);
		have = batch + have - line;
		memmove(batch, line, have);
		if (have == BATCH)
			break;
	}
	fclose(out);
	return NULL;
}

static void closing(int status, void *unused)
{
	char text[32];

	if (status != 0 || journal < 0)
		return;
	snprintf(text, sizeof(text), "C %lu", count);
	append(text);
	close(journal);
	syslog(LOG_NOTICE, "closed with %lu records", count);
}

static void *wait_for_stop(void *set)
{
	int sig;

	sigwait(set, &sig);
	pthread_mutex_lock(&lock);
	usleep(300 * 1000);	/* answers under way */
	exit(0);
}

int main(int argc, char **argv)
{
	struct sockaddr_in sin;
	const char *dir = NULL;
	int c, s, fd, on = 1, port = 7070;
	sigset_t set;
	pthread_t t;

	while ((c = getopt(argc, argv, "d:p:")) != -1)
		if (c == 'd')
			dir = canonicalize_file_name(optarg);
		else if (c == 'p')
			port = atoi(optarg);
		else
			error(2, 0, "usage: ledgerd -d DIRECTORY [-p PORT]");
	if (!dir || chdir(dir) < 0)
		error(2, errno, "directory");

	openlog(program_invocation_short_name, LOG_PID, LOG_DAEMON);
	journal = open("journal", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (journal < 0)
		error(1, errno, "journal");
	replay();
	syslog(LOG_NOTICE, "opened with %lu records (%s)", count, opened);
	on_exit(closing, NULL);

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigdelset(&set, SIGPIPE);
	pthread_create(&t, NULL, wait_for_stop, &set);

	s = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	bzero(&sin, sizeof(sin));
	sin.sin_family = AF_INET;
	sin.sin_port = htons(port);
	if (s < 0 || bind(s, (struct sockaddr *)&sin, sizeof(sin)) < 0 || listen(s, 16) < 0) {
		syslog(LOG_ERR, "port %d: %m", port);
		error(1, errno, "port %d", port);
	}
	while ((fd = TEMP_FAILURE_RETRY(accept(s, NULL, NULL))) >= 0)
		if (pthread_create(&t, NULL, serve, (void *)(long)fd) == 0)
			pthread_detach(t);
		else
			close(fd);
	error(1, errno, "accept");
	return 1;
}
