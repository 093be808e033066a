/* What probe.c and more.c share: ends with a word on what was wrong, draws, and sums of what arrived. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>


typedef uint64_t u64;
enum { MANY = 48 };

void die(const char *format, ...);
#define MUST(what) ({ __typeof__(what) is = (what); if (is < 0) die("%s", #what); is; })
#define HOLDS(what) do { errno = 0; if (!(what)) die("not %s", #what); } while (0)

extern u64 state, sum;
u64 draw(void);
void take(u64 value);
void put(int fd, u64 value);
u64 get(int fd);
void child_is_well(pid_t pid);
void nap(int ms);
u64 now(void);
void own_folder(char *path);

void mutexes(void), times_of_work(void), edges(void), packets(void), watches(void), ranges(void);
void sealed(void), heard(void), old(void), balance(void);
