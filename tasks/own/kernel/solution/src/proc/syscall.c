/* The table of system calls. */
#include "task.h"

struct regs *user_regs(void) { return (struct regs *)(current()->stack + (PAGE_SIZE << 2)) - 1; }

bool syscall_refused(u64 n);
i64 sys_rt_sigreturn_now(void);
i64 sys_rt_sigreturn(struct regs *r);
i64 sys_rt_sigreturn_now(void) { return sys_rt_sigreturn(user_regs()); }

typedef i64 (*call)(u64, u64, u64, u64, u64, u64);

#define CALLS(X) \
	X(0, read) X(1, write) X(2, open) X(3, close) X(4, stat) X(5, fstat) X(6, lstat) X(7, poll) X(8, lseek) X(9, mmap) \
	X(10, mprotect) X(11, munmap) X(12, brk) X(13, rt_sigaction) X(14, rt_sigprocmask) X(15, rt_sigreturn_now) \
	X(16, ioctl) X(17, pread64) X(18, pwrite64) X(19, readv) X(20, writev) X(21, access) X(22, pipe) X(23, select) \
	X(24, sched_yield) X(25, mremap) X(26, msync) X(27, mincore) X(28, madvise) X(32, dup) X(33, dup2) X(34, pause) \
	X(35, nanosleep) X(36, getitimer) X(37, alarm) X(38, setitimer) X(39, getpid) X(40, sendfile) X(41, socket) \
	X(42, connect) X(43, accept) X(44, sendto) X(45, recvfrom) X(46, sendmsg) X(47, recvmsg) X(48, shutdown) \
	X(49, bind) X(50, listen) X(51, getsockname) X(52, getpeername) X(53, socketpair) X(54, setsockopt) \
	X(55, getsockopt) X(56, clone) X(57, fork) X(58, vfork) X(59, execve) X(60, exit) X(61, wait4) X(62, kill) \
	X(63, uname) X(72, fcntl) X(73, flock) X(74, fsync) X(75, fsync_data) X(76, truncate) X(77, ftruncate) \
	X(79, getcwd) X(80, chdir) X(81, fchdir) X(82, rename) X(83, mkdir) X(84, rmdir) X(85, creat) X(86, link) \
	X(87, unlink) X(88, symlink) X(89, readlink) X(90, chmod) X(91, fchmod) X(92, chown) X(93, fchown) X(94, lchown) \
	X(95, umask) X(96, gettimeofday) X(97, getrlimit) X(98, getrusage) X(99, sysinfo) X(100, times) X(102, getuid) \
	X(104, getgid) X(105, setuid) X(106, setgid) X(107, geteuid) X(108, getegid) X(109, setpgid) X(110, getppid) \
	X(111, getpgrp) X(112, setsid) X(113, setreuid) X(114, setregid) X(115, getgroups) X(116, setgroups) \
	X(117, setresuid) X(118, getresuid) X(119, setresgid) X(120, getresgid) X(121, getpgid) X(122, setfsuid) \
	X(123, setfsgid) X(124, getsid) X(125, capget) X(127, rt_sigpending) X(128, rt_sigtimedwait) \
	X(129, rt_sigqueueinfo) X(130, rt_sigsuspend) X(131, sigaltstack) X(132, utime) X(133, mknod) X(135, personality) \
	X(137, statfs) X(138, fstatfs) X(140, getpriority) X(141, setpriority) X(142, zero) X(143, sched_param) \
	X(144, zero) X(145, zero) X(146, zero) X(147, zero) X(149, mlock) X(150, zero) X(151, zero) X(152, zero) \
	X(157, prctl) X(158, arch_prctl) X(160, setrlimit) X(161, chroot) X(162, sync) X(164, settimeofday) X(165, mount) \
	X(166, umount2) X(169, reboot) X(170, sethostname) X(171, setdomainname) X(186, gettid) X(200, tkill) X(201, time) \
	X(202, futex) X(203, sched_setaffinity) X(204, sched_getaffinity) X(213, epoll_create) X(217, getdents64) \
	X(218, set_tid_address) X(219, restart_syscall) X(221, fadvise64) X(222, timer_create) X(223, timer_settime) \
	X(224, timer_gettime) X(225, timer_getoverrun) X(226, timer_delete) X(227, clock_settime) X(228, clock_gettime) \
	X(229, clock_getres) X(230, clock_nanosleep) X(231, exit_group) X(232, epoll_wait) X(233, epoll_ctl) X(234, tgkill) \
	X(235, utimes) X(247, waitid) X(257, openat) X(258, mkdirat) X(259, mknodat) X(260, fchownat) X(262, newfstatat) \
	X(263, unlinkat) X(264, renameat) X(265, linkat) X(266, symlinkat) X(267, readlinkat) X(268, fchmodat) \
	X(269, faccessat) X(270, pselect6) X(271, ppoll) X(273, set_robust_list) X(277, zero) X(280, utimensat) \
	X(281, epoll_pwait) X(282, signalfd) X(283, timerfd_create) X(284, eventfd) X(285, fallocate) \
	X(286, timerfd_settime) X(287, timerfd_gettime) X(288, accept4) X(289, signalfd4) X(290, eventfd2) \
	X(291, epoll_create1) X(292, dup3) X(293, pipe2) X(295, preadv) X(296, pwritev) X(297, rt_tgsigqueueinfo) \
	X(299, recvmmsg) X(302, prlimit64) X(306, syncfs) X(307, sendmmsg) X(309, getcpu) X(316, renameat2) \
	X(318, getrandom) X(319, memfd_create) X(322, execveat) X(324, zero) X(332, statx) X(435, clone3) \
	X(436, close_range) X(439, faccessat2)

/* They take fewer arguments than they are given, which the calling convention allows. */
#define DECLARE(number, name) i64 sys_##name();
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
CALLS(DECLARE)

i64 sys_pipe(u64 out) { return sys_pipe2(out, 0); }
i64 sys_fsync_data(u64 fd) { return sys_fsync(fd); }
i64 sys_accept(u64 fd, u64 address, u64 size) { return sys_accept4(fd, address, size, 0); }
i64 sys_signalfd(u64 fd, u64 mask, u64 size) { return sys_signalfd4(fd, mask, size, 0); }

#define ENTRY(number, name) [number] = (call)sys_##name,
#pragma GCC diagnostic ignored "-Wcast-function-type"
#pragma GCC diagnostic ignored "-Woverride-init"
static const call table[] = { CALLS(ENTRY) };

void syscall(struct regs *r)
{
	u64 n = r->error;
	if (n >= LENGTH(table) || !table[n] || syscall_refused(n)) {
		r->rax = -ENOSYS;
		return;
	}
	r->rax = table[n](r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9);
}
