/* What lies on the disk, format 2; for the module and for the programs. Everything is little-endian. */
#ifndef DISK_H
#define DISK_H
#include "without.h"

#define BLOCK 4096
#define MAGIC "HOLMFS-2"
#define MAGIC_OLD "HOLMFS-1"
#define FAN_BITS 7
#define FAN (1 << FAN_BITS)		/* pointers to nodes in a node */
#define LEAF_BITS 8
#define LEAF (1 << LEAF_BITS)		/* pointers to data in a leaf of a file */
#define MOST_HEIGHT 5
#define RECORDS (BLOCK / 256)		/* inodes in a leaf of the table */
#define SLOTS 15			/* names in a leaf of a folder */
#define FIRST_FREE 16
#define ROOT_INO 1

/* A node of metadata: two copies, and what both have to sum to. */
struct ptr {
	__le64 a, b;
	__le32 crc, zero;
	__le64 zero2;
};

/* A block of a file's data: one copy. */
struct data_ptr {
	__le64 at;
	__le32 crc, zero;
};

/* At the blocks 0, 2 (even generations) and 1, 3 (odd ones). */
struct super_on_disk {
	__u8 magic[8];
	__le32 version, height;
	__le64 blocks;
	__u8 uuid[16];
	__u8 label[32];
	__le64 generation;
	struct ptr table;
	__u8 zero[508 - 112];
	__le32 crc;
};

struct inode_on_disk {
	__le32 mode, uid, gid, links;
	__le64 size;
	__le64 seconds[3];		/* atime, mtime, ctime */
	__le32 nanoseconds[3];
	__le32 device, generation, height;
	__le64 blocks;			/* of data */
	struct ptr root;
	__u8 zero[256 - 112];
};

struct slot {
	__le64 ino;			/* 0: free */
	__u8 type, length, zero[6];
	char name[256];
};

/* The old format, which is only read. */
struct old_super {
	__u8 magic[8];
	__le32 version, blocks, table, inodes;
	__u8 uuid[16];
	__u8 label[32];
	__le64 made;
	__u8 zero[508 - 80];
	__le32 crc;
};

struct old_extent {
	__le32 logical, start, length;
};

struct old_inode {
	__le16 mode, links;
	__le32 uid, gid;
	__le64 size __attribute__((packed));
	__le64 seconds __attribute__((packed));
	__le32 nanoseconds, extents;
	struct old_extent extent[5];
	__le32 more, device;
	__u8 zero[124 - 104];
	__le32 crc;
};

struct old_name {
	__le32 ino;
	__le16 size;
	__u8 length, zero;
	char name[];
};

#endif
