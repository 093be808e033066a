//config:config SEAL
//config:	bool "seal"
//config:	default y

//applet:IF_SEAL(APPLET(seal, BB_DIR_USR_BIN, BB_SUID_DROP))

//kbuild:lib-$(CONFIG_SEAL) += seal.o

//usage:#define seal_trivial_usage
//usage:       "[-i] [TEXT]..."
//usage:#define seal_full_usage "\n\n"
//usage:       "Ask the seal device for quotes"

#include "libbb.h"
#include <seal.h>

int seal_main(int argc, char **argv) MAIN_EXTERNALLY_VISIBLE;
int seal_main(int argc UNUSED_PARAM, char **argv)
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
