/* Files: one function for each call of the kernel. A negative number is an error number. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/file.h>
#include "core.h"

#define PATH(name, index) const char *name = JS_ToCString(ctx, argv[index]); if (!name) return JS_EXCEPTION
#define ON_PATH(name, expression) FN(name) { PATH(path, 0); int64_t value = (expression); \
	JSValue answer = result(ctx, value); JS_FreeCString(ctx, path); return answer; }
#define ON_PATHS(name, expression) FN(name) { PATH(path, 0); PATH(other, 1); int64_t value = (expression); \
	JSValue answer = result(ctx, value); JS_FreeCString(ctx, path); JS_FreeCString(ctx, other); return answer; }
#define ON_FD(name, expression) FN(name) { int fd = int_arg(ctx, argv[0]); return result(ctx, (expression)); }

ON_PATH(open_, open(path, int_arg(ctx, argv[1]) | O_CLOEXEC, int_arg(ctx, argv[2])))
ON_PATH(mkdir_, mkdir(path, int_arg(ctx, argv[1])))
ON_PATH(rmdir_, rmdir(path))
ON_PATH(unlink_, unlink(path))
ON_PATHS(rename_, rename(path, other))
ON_PATHS(link_, link(path, other))
ON_PATHS(symlink_, symlink(path, other))
ON_PATH(chmod_, chmod(path, int_arg(ctx, argv[1])))
ON_PATH(chown_, chown(path, int_arg(ctx, argv[1]), int_arg(ctx, argv[2])))
ON_PATH(lchown_, lchown(path, int_arg(ctx, argv[1]), int_arg(ctx, argv[2])))
ON_PATH(truncate_, truncate(path, long_arg(ctx, argv[1])))
ON_PATH(access_, access(path, int_arg(ctx, argv[1])))
ON_FD(close_, close(fd))
ON_FD(fsync_, fsync(fd))
ON_FD(fdatasync_, fdatasync(fd))
ON_FD(ftruncate_, ftruncate(fd, long_arg(ctx, argv[1])))
ON_FD(fchmod_, fchmod(fd, int_arg(ctx, argv[1])))
ON_FD(fchown_, fchown(fd, int_arg(ctx, argv[1]), int_arg(ctx, argv[2])))
ON_FD(flock_, flock(fd, int_arg(ctx, argv[1])))
ON_FD(isatty_, isatty(fd))
ON_FD(nonblock_, fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
ON_FD(fdflags_, fcntl(fd, F_GETFL))

static void stamp(struct timespec *spec, double seconds)
{
	/* To the microsecond, as Node has it. */
	spec->tv_sec = (time_t)seconds;
	spec->tv_nsec = (int64_t)(seconds * 1e6) % 1000000 * 1000;
	if (spec->tv_nsec < 0) {
		spec->tv_nsec += 1000000000;
		spec->tv_sec--;
	}
}

/* utimes(path or descriptor, access, modification, flags) */
FN(utimes_)
{
	struct timespec times[2];
	JSValue answer;
	stamp(&times[0], double_arg(ctx, argv[1]));
	stamp(&times[1], double_arg(ctx, argv[2]));
	if (JS_IsNumber(argv[0]))
		return result(ctx, futimens(int_arg(ctx, argv[0]), times));
	PATH(path, 0);
	answer = result(ctx, utimensat(AT_FDCWD, path, times, int_arg(ctx, argv[3])));
	JS_FreeCString(ctx, path);
	return answer;
}

/* stat(path or descriptor, flags): a list of numbers. */
FN(stat_)
{
	struct stat info;
	int status;
	if (JS_IsNumber(argv[0]))
		status = fstat(int_arg(ctx, argv[0]), &info);
	else {
		PATH(path, 0);
		status = fstatat(AT_FDCWD, path, &info, int_arg(ctx, argv[1]));
		JS_FreeCString(ctx, path);
	}
	if (status < 0)
		return result(ctx, -1);
	double values[] = {
		info.st_dev, info.st_mode, info.st_nlink, info.st_uid, info.st_gid, info.st_rdev, info.st_blksize,
		info.st_ino, info.st_size, info.st_blocks,
		info.st_atim.tv_sec * 1e3 + info.st_atim.tv_nsec / 1e6,
		info.st_mtim.tv_sec * 1e3 + info.st_mtim.tv_nsec / 1e6,
		info.st_ctim.tv_sec * 1e3 + info.st_ctim.tv_nsec / 1e6,
	};
	JSValue list = JS_NewArray(ctx);
	for (int i = 0; i < COUNT(values); i++)
		JS_SetPropertyUint32(ctx, list, i, JS_NewFloat64(ctx, values[i]));
	return list;
}

/* read(descriptor, bytes, offset, length, position or -1) */
FN(read_)
{
	size_t size;
	uint8_t *bytes = bytes_of(ctx, argv[1], &size);
	size_t offset = long_arg(ctx, argv[2]), length = long_arg(ctx, argv[3]);
	int64_t position = long_arg(ctx, argv[4]);
	int fd = int_arg(ctx, argv[0]);
	if (offset > size || length > size - offset) {
		errno = EINVAL;
		return result(ctx, -1);
	}
	for (;;) {
		ssize_t count = position < 0 ? read(fd, bytes + offset, length) :
			pread(fd, bytes + offset, length, position);
		if (count >= 0 || errno != EINTR)
			return result(ctx, count);
	}
}

FN(write_)
{
	size_t size;
	uint8_t *bytes = bytes_of(ctx, argv[1], &size);
	size_t offset = long_arg(ctx, argv[2]), length = long_arg(ctx, argv[3]);
	int64_t position = long_arg(ctx, argv[4]);
	int fd = int_arg(ctx, argv[0]);
	if (offset > size || length > size - offset) {
		errno = EINVAL;
		return result(ctx, -1);
	}
	for (;;) {
		ssize_t count = position < 0 ? write(fd, bytes + offset, length) :
			pwrite(fd, bytes + offset, length, position);
		if (count >= 0 || errno != EINTR)
			return result(ctx, count);
	}
}

/* readdir(path): names and types in turn */
FN(readdir_)
{
	PATH(path, 0);
	DIR *folder = opendir(path);
	struct dirent *entry;
	JSValue list;
	uint32_t count = 0;
	JS_FreeCString(ctx, path);
	if (!folder)
		return result(ctx, -1);
	list = JS_NewArray(ctx);
	while ((entry = readdir(folder))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		JS_SetPropertyUint32(ctx, list, count++, JS_NewString(ctx, entry->d_name));
		JS_SetPropertyUint32(ctx, list, count++, JS_NewInt32(ctx, entry->d_type));
	}
	closedir(folder);
	return list;
}

FN(readlink_)
{
	char target[PATH_MAX];
	PATH(path, 0);
	ssize_t length = readlink(path, target, sizeof target);
	JS_FreeCString(ctx, path);
	return length < 0 ? result(ctx, -1) : JS_NewStringLen(ctx, target, length);
}

FN(realpath_)
{
	char target[PATH_MAX];
	PATH(path, 0);
	char *found = realpath(path, target);
	JS_FreeCString(ctx, path);
	return found ? JS_NewString(ctx, found) : result(ctx, -1);
}

FN(mkdtemp_)
{
	PATH(prefix, 0);
	char *name = malloc(strlen(prefix) + 7);
	JSValue answer;
	strcpy(name, prefix);
	strcat(name, "XXXXXX");
	JS_FreeCString(ctx, prefix);
	answer = mkdtemp(name) ? JS_NewString(ctx, name) : result(ctx, -1);
	free(name);
	return answer;
}

/* readText(path): the whole file as text if it is valid, or an error number */
FN(readText)
{
	PATH(path, 0);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t room = 8192, length = 0;
	ssize_t count;
	char *text;
	JSValue answer;
	JS_FreeCString(ctx, path);
	if (fd < 0)
		return result(ctx, -1);
	struct stat info;
	if (!fstat(fd, &info) && info.st_size > 0)
		room = info.st_size + 1;
	text = js_malloc(ctx, room);
	if (!text) {
		close(fd);
		return JS_EXCEPTION;
	}
	while ((count = read(fd, text + length, room - length)) > 0) {
		length += count;
		if (length == room)
		{
			char *more = js_realloc(ctx, text, room *= 2);
			if (!more) {
				js_free(ctx, text);
				close(fd);
				return JS_EXCEPTION;
			}
			text = more;
		}
	}
	if (count < 0)
		answer = result(ctx, -1);
	else
		answer = own_bytes(ctx, text, length), text = NULL;
	js_free(ctx, text);
	close(fd);
	return answer;
}

static const JSCFunctionListEntry entries[] = {
	DEF(open_, 3), DEF(mkdir_, 2), DEF(rmdir_, 1), DEF(unlink_, 1), DEF(rename_, 2), DEF(link_, 2),
	DEF(symlink_, 2), DEF(chmod_, 2), DEF(chown_, 3), DEF(lchown_, 3), DEF(truncate_, 2), DEF(access_, 2),
	DEF(close_, 1), DEF(fsync_, 1), DEF(fdatasync_, 1), DEF(ftruncate_, 2), DEF(fchmod_, 2),
	DEF(fchown_, 3), DEF(flock_, 2), DEF(isatty_, 1), DEF(nonblock_, 1), DEF(fdflags_, 1),
	DEF(utimes_, 4), DEF(stat_, 2), DEF(read_, 5), DEF(write_, 5), DEF(readdir_, 1), DEF(readlink_, 1),
	DEF(realpath_, 1), DEF(mkdtemp_, 1), DEF(readText, 1),
};

void add_files(JSContext *ctx, JSValue sys)
{
	JS_SetPropertyFunctionList(ctx, sys, entries, COUNT(entries));
}
