/*
 * seal applet: ask for quotes from the shell.
 *
 *   seal TEXT...   one line for each TEXT: "seal1 COUNT TAG"
 *   seal -i        what /proc/driver/seal says
 *
 * Exit status: 0 when all were answered, 1 otherwise.
 *
 * For BusyBox 1.13. Its entries in the tables of that release were
 *   applets.h:  USE_SEAL(APPLET(seal, _BB_DIR_USR_BIN, _BB_SUID_NEVER))
 *   Config.in:  config SEAL / bool "seal" / default n
 *   Kbuild:     lib-$(CONFIG_SEAL) += seal.o
 *   usage.h:    #define seal_trivial_usage "[-i] [TEXT]..."
 *               #define seal_full_usage "\n\nAsk the seal device for quotes"
 */
#include "libbb.h"
#include <seal.h>

int seal_quote(const void *challenge, size_t len, struct seal_quote *out);

int seal_main(int argc, char **argv) MAIN_EXTERNALLY_VISIBLE;
int seal_main(int argc, char **argv)
{
	struct seal_quote q;
	int status = EXIT_SUCCESS;

	if (getopt32(argv, "i")) {
		bb_copyfd_eof(xopen("/proc/driver/seal", O_RDONLY), STDOUT_FILENO);
		return EXIT_SUCCESS;
	}
	argv += optind;
	if (!*argv)
		bb_show_usage();
	do {
		if (seal_quote(*argv, strlen(*argv), &q) < 0) {
			bb_perror_msg("%s", *argv);
			status = EXIT_FAILURE;
			continue;
		}
		printf("seal1 %llu %016llx\n",
			(unsigned long long)q.count, (unsigned long long)q.tag);
	} while (*++argv);
	fflush_stdout_and_exit(status);
}
