/* Processes, signals, clocks, and what the kernel tells about the machine. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include "core.h"

extern char **environ;
static int signal_fds[2] = { -1, -1 };

static void on_signal(int number)
{
	int saved = errno;
	uint8_t byte = number;
	if (write(signal_fds[1], &byte, 1) < 0)
		byte = 0;
	errno = saved;
}

int signal_pipe(void)
{
	if (signal_fds[0] < 0 && pipe2(signal_fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	return signal_fds[0];
}

FN(signalPipe)
{
	return result(ctx, signal_pipe());
}

/* watch(signal, how): 1 to the pipe, 0 as by default, 2 ignored */
FN(watch)
{
	struct sigaction action = { .sa_flags = SA_RESTART };
	int how = int_arg(ctx, argv[1]);
	action.sa_handler = how == 1 ? on_signal : how == 2 ? SIG_IGN : SIG_DFL;
	signal_pipe();
	return result(ctx, sigaction(int_arg(ctx, argv[0]), &action, NULL));
}

static char **strings(JSContext *ctx, JSValueConst list)
{
	int64_t count = 0, i;
	JSValue length = JS_GetPropertyStr(ctx, list, "length");
	char **all;
	JS_ToInt64(ctx, &count, length);
	JS_FreeValue(ctx, length);
	all = calloc(count + 1, sizeof *all);
	for (i = 0; i < count; i++) {
		JSValue value = JS_GetPropertyUint32(ctx, list, i);
		const char *text = JS_ToCString(ctx, value);
		all[i] = strdup(text ? text : "");
		JS_FreeCString(ctx, text);
		JS_FreeValue(ctx, value);
	}
	return all;
}

static void release(char **all)
{
	for (char **one = all; *one; one++)
		free(*one);
	free(all);
}

/* spawn(file, arguments, environment, folder, descriptors, session?, user, group) */
FN(spawn)
{
	const char *file = JS_ToCString(ctx, argv[0]);
	const char *folder = JS_IsString(argv[3]) ? JS_ToCString(ctx, argv[3]) : NULL;
	char **arguments = strings(ctx, argv[1]), **environment = strings(ctx, argv[2]);
	int fds[16], count = 0, report[2], error = 0, session = JS_ToBool(ctx, argv[5]);
	int user = JS_IsNumber(argv[6]) ? int_arg(ctx, argv[6]) : -1;
	int group = JS_IsNumber(argv[7]) ? int_arg(ctx, argv[7]) : -1;
	int64_t length = 0;
	sigset_t all, before;
	pid_t child;
	JSValue size = JS_GetPropertyStr(ctx, argv[4], "length");
	JS_ToInt64(ctx, &length, size);
	JS_FreeValue(ctx, size);
	for (; count < length && count < COUNT(fds); count++) {
		JSValue value = JS_GetPropertyUint32(ctx, argv[4], count);
		fds[count] = int_arg(ctx, value);
		JS_FreeValue(ctx, value);
	}
	if (pipe2(report, O_CLOEXEC) < 0) {
		error = errno;
		child = -1;
		goto out;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	child = fork();
	if (child == 0) {
		struct sigaction plain = { .sa_handler = SIG_DFL };
		for (int number = 1; number < 65; number++)
			if (number != SIGKILL && number != SIGSTOP)
				sigaction(number, &plain, NULL);
		sigemptyset(&before);
		sigprocmask(SIG_SETMASK, &before, NULL);
		if (session)
			setsid();
		for (int i = 0; i < count; i++)
			while (fds[i] >= 0 && fds[i] < count && fds[i] != i)
				fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, count);
		for (int i = 0; i < count; i++) {
			if (fds[i] < 0)
				close(i);
			else if (fds[i] == i)
				fcntl(i, F_SETFD, 0);
			else
				dup2(fds[i], i);
			if (fds[i] >= 0 && i < 3) {
				int flags = fcntl(i, F_GETFL);
				if (flags & O_NONBLOCK)
					fcntl(i, F_SETFL, flags & ~O_NONBLOCK);
			}
		}
		if ((folder && chdir(folder) < 0) || (group >= 0 && setgid(group) < 0) ||
		    (user >= 0 && setuid(user) < 0))
			error = errno;
		else {
			environ = environment;
			execvp(file, arguments);
			error = errno;
		}
		if (write(report[1], &error, sizeof error) < 0)
			_exit(126);
		_exit(127);
	}
	if (child < 0)
		error = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(report[1]);
	if (child > 0) {
		ssize_t got;
		while ((got = read(report[0], &error, sizeof error)) < 0 && errno == EINTR)
			;
		if (got == sizeof error)
			while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
				;
		else
			error = 0;
	}
	close(report[0]);
out:
	release(arguments);
	release(environment);
	JS_FreeCString(ctx, file);
	JS_FreeCString(ctx, folder);
	return JS_NewInt32(ctx, error ? -error : child);
}

/* reap(process, wait?): process, status, signal; or undefined */
FN(reap)
{
	int status;
	pid_t child;
	do
		child = waitpid(int_arg(ctx, argv[0]), &status, JS_ToBool(ctx, argv[1]) ? 0 : WNOHANG);
	while (child < 0 && errno == EINTR);
	if (child <= 0)
		return JS_UNDEFINED;
	JSValue list = JS_NewArray(ctx);
	JS_SetPropertyUint32(ctx, list, 0, JS_NewInt32(ctx, child));
	JS_SetPropertyUint32(ctx, list, 1, JS_NewInt32(ctx, WIFEXITED(status) ? WEXITSTATUS(status) : -1));
	JS_SetPropertyUint32(ctx, list, 2, JS_NewInt32(ctx, WIFSIGNALED(status) ? WTERMSIG(status) : 0));
	return list;
}

FN(kill_)
{
	return result(ctx, kill(int_arg(ctx, argv[0]), int_arg(ctx, argv[1])));
}

/* poll(descriptors and events in turn, timeout): what came, in the same order */
#include <poll.h>
FN(poll_)
{
	struct pollfd fds[16];
	int64_t count = 0;
	JSValue size = JS_GetPropertyStr(ctx, argv[0], "length");
	JS_ToInt64(ctx, &count, size);
	JS_FreeValue(ctx, size);
	count = count / 2 > COUNT(fds) ? COUNT(fds) : count / 2;
	for (int i = 0; i < count; i++) {
		JSValue fd = JS_GetPropertyUint32(ctx, argv[0], 2 * i), events = JS_GetPropertyUint32(ctx, argv[0], 2 * i + 1);
		fds[i].fd = int_arg(ctx, fd);
		fds[i].events = int_arg(ctx, events);
		fds[i].revents = 0;
		JS_FreeValue(ctx, fd);
		JS_FreeValue(ctx, events);
	}
	if (poll(fds, count, int_arg(ctx, argv[1])) < 0)
		for (int i = 0; i < count; i++)
			fds[i].revents = 0;
	JSValue list = JS_NewArray(ctx);
	for (int i = 0; i < count; i++)
		JS_SetPropertyUint32(ctx, list, i, JS_NewInt32(ctx, fds[i].revents));
	return list;
}

FN(pipe_)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return result(ctx, -1);
	JSValue list = JS_NewArray(ctx);
	JS_SetPropertyUint32(ctx, list, 0, JS_NewInt32(ctx, fds[0]));
	JS_SetPropertyUint32(ctx, list, 1, JS_NewInt32(ctx, fds[1]));
	return list;
}

FN(environment)
{
	JSValue list = JS_NewArray(ctx);
	for (int i = 0; environ[i]; i++)
		JS_SetPropertyUint32(ctx, list, i, JS_NewString(ctx, environ[i]));
	return list;
}

FN(setEnvironment)
{
	const char *name = JS_ToCString(ctx, argv[0]), *value = NULL;
	int status;
	if (JS_IsUndefined(argv[1]))
		status = unsetenv(name);
	else {
		value = JS_ToCString(ctx, argv[1]);
		status = setenv(name, value, 1);
	}
	JS_FreeCString(ctx, name);
	JS_FreeCString(ctx, value);
	return result(ctx, status);
}

FN(folder)
{
	char path[4096];
	return getcwd(path, sizeof path) ? JS_NewString(ctx, path) : result(ctx, -1);
}

FN(changeFolder)
{
	const char *path = JS_ToCString(ctx, argv[0]);
	JSValue answer = result(ctx, chdir(path));
	JS_FreeCString(ctx, path);
	return answer;
}

FN(numbers)
{
	int values[] = { getpid(), getppid(), getuid(), geteuid(), getgid(), getegid(),
		(int)sysconf(_SC_NPROCESSORS_ONLN) };
	JSValue list = JS_NewArray(ctx);
	for (int i = 0; i < COUNT(values); i++)
		JS_SetPropertyUint32(ctx, list, i, JS_NewInt32(ctx, values[i]));
	return list;
}

FN(mask)
{
	int old;
	if (JS_IsUndefined(argv[0]))
		umask(old = umask(0));
	else
		old = umask(int_arg(ctx, argv[0]));
	return JS_NewInt32(ctx, old);
}

/* now(): milliseconds of the steady clock */
FN(now)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return JS_NewFloat64(ctx, time.tv_sec * 1e3 + time.tv_nsec / 1e6);
}

FN(hr)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	JSValue list = JS_NewArray(ctx);
	JS_SetPropertyUint32(ctx, list, 0, JS_NewInt64(ctx, time.tv_sec));
	JS_SetPropertyUint32(ctx, list, 1, JS_NewInt64(ctx, time.tv_nsec));
	return list;
}

FN(machine)
{
	struct utsname names;
	struct sysinfo info;
	struct rusage use;
	uname(&names);
	sysinfo(&info);
	getrusage(RUSAGE_SELF, &use);
	JSValue list = JS_NewArray(ctx);
	int i = 0;
	JS_SetPropertyUint32(ctx, list, i++, JS_NewString(ctx, names.nodename));
	JS_SetPropertyUint32(ctx, list, i++, JS_NewString(ctx, names.release));
	JS_SetPropertyUint32(ctx, list, i++, JS_NewString(ctx, names.version));
	JS_SetPropertyUint32(ctx, list, i++, JS_NewFloat64(ctx, (double)info.totalram * info.mem_unit));
	JS_SetPropertyUint32(ctx, list, i++, JS_NewFloat64(ctx, (double)info.freeram * info.mem_unit));
	JS_SetPropertyUint32(ctx, list, i++, JS_NewInt64(ctx, info.uptime));
	JS_SetPropertyUint32(ctx, list, i++, JS_NewFloat64(ctx, use.ru_utime.tv_sec * 1e6 + use.ru_utime.tv_usec));
	JS_SetPropertyUint32(ctx, list, i++, JS_NewFloat64(ctx, use.ru_stime.tv_sec * 1e6 + use.ru_stime.tv_usec));
	return list;
}

static const JSCFunctionListEntry entries[] = {
	DEF(signalPipe, 0), DEF(watch, 2), DEF(spawn, 8), DEF(reap, 2), DEF(kill_, 2), DEF(pipe_, 0), DEF(poll_, 2),
	DEF(environment, 0), DEF(setEnvironment, 2), DEF(folder, 0), DEF(changeFolder, 1), DEF(numbers, 0),
	DEF(mask, 1), DEF(now, 0), DEF(hr, 0), DEF(machine, 0),
};

void add_processes(JSContext *ctx, JSValue sys)
{
	JS_SetPropertyFunctionList(ctx, sys, entries, COUNT(entries));
}
