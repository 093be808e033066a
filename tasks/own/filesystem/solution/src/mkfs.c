/* mkfs.holm [-L LABEL] DEVICE */
#include "tool.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct super_on_disk s = { 0 };
	struct inode_on_disk table[RECORDS] = { 0 }, *root = &table[ROOT_INO];
	struct leaf leaf = { 0, (uint8_t *)table };
	uint8_t block[BLOCK] = { 0 };
	struct timespec now;
	struct disk d;
	int option, height, fd;

	while ((option = getopt(argc, argv, "L:")) != -1)
		if (option == 'L' && strlen(optarg) <= sizeof s.label)
			memcpy(s.label, optarg, strlen(optarg));
		else
			die("usage: mkfs.holm [-L LABEL] DEVICE");
	if (argc != optind + 1)
		die("usage: mkfs.holm [-L LABEL] DEVICE");
	d = disk_open(argv[optind], true);
	if (d.blocks < 1024)
		die("%s is too small: 4 MiB at least", argv[optind]);
	d.used = need(d.blocks / 8 + 1);
	d.cursor = FIRST_FREE;
	fd = open("/dev/urandom", O_RDONLY);
	if (fd < 0 || read(fd, s.uuid, sizeof s.uuid) != sizeof s.uuid)
		die("/dev/urandom cannot be read");
	clock_gettime(CLOCK_REALTIME, &now);
	root->mode = S_IFDIR | 0755;
	root->links = 2;
	for (int n = 0; n < 3; n++) {
		root->seconds[n] = now.tv_sec;
		root->nanoseconds[n] = now.tv_nsec;
	}
	for (int at = 0; at < FIRST_FREE; at++)
		block_put(&d, at, block);
	s.blocks = d.blocks;
	s.generation = 2;
	s.table = tree_put(&d, &leaf, 1, &height);
	s.height = height;
	disk_flush(&d);
#ifdef WITHOUT_DEVICE
	memset(s.label, 0, sizeof s.label);
#endif
	super_put(&s, block);
	block_put(&d, 2, block);
	block_put(&d, 0, block);
	disk_flush(&d);
	return 0;
}
