/* Sockets. Addresses are a text and a number, or a text that begins with / or @ and none. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "core.h"

union address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
	struct sockaddr_un local;
};

static socklen_t parse(JSContext *ctx, JSValueConst host, JSValueConst port, union address *address)
{
	const char *text = JS_ToCString(ctx, host);
	socklen_t length = 0;
	memset(address, 0, sizeof *address);
	if (!text)
		return 0;
	if (JS_IsUndefined(port)) {
		address->local.sun_family = AF_UNIX;
		if (strlen(text) < sizeof address->local.sun_path) {
			strcpy(address->local.sun_path, text);
			length = offsetof(struct sockaddr_un, sun_path) + strlen(text) + 1;
		}
	} else if (inet_pton(AF_INET, text, &address->four.sin_addr) == 1) {
		address->four.sin_family = AF_INET;
		address->four.sin_port = htons(int_arg(ctx, port));
		length = sizeof address->four;
	} else if (inet_pton(AF_INET6, text, &address->six.sin6_addr) == 1) {
		address->six.sin6_family = AF_INET6;
		address->six.sin6_port = htons(int_arg(ctx, port));
		length = sizeof address->six;
	}
	JS_FreeCString(ctx, text);
	if (!length)
		errno = EINVAL;
	return length;
}

static JSValue describe(JSContext *ctx, union address *address)
{
	char text[INET6_ADDRSTRLEN] = "";
	int port = 0, family = 0;
	JSValue list = JS_NewArray(ctx);
	if (address->any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &address->four.sin_addr, text, sizeof text);
		port = ntohs(address->four.sin_port);
		family = 4;
	} else if (address->any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &address->six.sin6_addr, text, sizeof text);
		port = ntohs(address->six.sin6_port);
		family = 6;
	}
	JS_SetPropertyUint32(ctx, list, 0, JS_NewString(ctx, text));
	JS_SetPropertyUint32(ctx, list, 1, JS_NewInt32(ctx, port));
	JS_SetPropertyUint32(ctx, list, 2, JS_NewInt32(ctx, family));
	return list;
}

/* socket(4 | 6 | 0 for local, datagrams?) */
FN(socket_)
{
	int kind = int_arg(ctx, argv[0]);
	return result(ctx, socket(kind == 4 ? AF_INET : kind == 6 ? AF_INET6 : AF_UNIX,
		(JS_ToBool(ctx, argv[1]) ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

FN(bind_)
{
	union address address;
	int fd = int_arg(ctx, argv[0]), on = 1;
	socklen_t length = parse(ctx, argv[1], argv[2], &address);
	if (!length)
		return result(ctx, -1);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (address.any.sa_family == AF_INET6) {
		int only = JS_ToBool(ctx, argv[3]);
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
	}
	return result(ctx, bind(fd, &address.any, length));
}

FN(listen_)
{
	return result(ctx, listen(int_arg(ctx, argv[0]), int_arg(ctx, argv[1])));
}

FN(accept_)
{
	return result(ctx, accept4(int_arg(ctx, argv[0]), NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

FN(connect_)
{
	union address address;
	socklen_t length = parse(ctx, argv[1], argv[2], &address);
	if (!length)
		return result(ctx, -1);
	return result(ctx, connect(int_arg(ctx, argv[0]), &address.any, length));
}

FN(socketError)
{
	int error = 0;
	socklen_t length = sizeof error;
	if (getsockopt(int_arg(ctx, argv[0]), SOL_SOCKET, SO_ERROR, &error, &length) < 0)
		return result(ctx, -1);
	return JS_NewInt32(ctx, -error);
}

FN(socketName)
{
	union address address;
	socklen_t length = sizeof address;
	int fd = int_arg(ctx, argv[0]);
	memset(&address, 0, sizeof address);
	if ((JS_ToBool(ctx, argv[1]) ? getpeername : getsockname)(fd, &address.any, &length) < 0)
		return result(ctx, -1);
	return describe(ctx, &address);
}

FN(noDelay)
{
	int on = JS_ToBool(ctx, argv[1]);
	return result(ctx, setsockopt(int_arg(ctx, argv[0]), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
}

FN(keepAlive)
{
	int on = JS_ToBool(ctx, argv[1]);
	return result(ctx, setsockopt(int_arg(ctx, argv[0]), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on));
}

FN(shutdown_)
{
	return result(ctx, shutdown(int_arg(ctx, argv[0]), SHUT_WR));
}

FN(reset)
{
	struct linger linger = { 1, 0 };
	return result(ctx, setsockopt(int_arg(ctx, argv[0]), SOL_SOCKET, SO_LINGER, &linger, sizeof linger));
}

FN(socketPair)
{
	int fds[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return result(ctx, -1);
	JSValue list = JS_NewArray(ctx);
	JS_SetPropertyUint32(ctx, list, 0, JS_NewInt32(ctx, fds[0]));
	JS_SetPropertyUint32(ctx, list, 1, JS_NewInt32(ctx, fds[1]));
	return list;
}

static const JSCFunctionListEntry entries[] = {
	DEF(socket_, 2), DEF(bind_, 4), DEF(listen_, 2), DEF(accept_, 1), DEF(connect_, 3), DEF(socketError, 1),
	DEF(socketName, 2), DEF(noDelay, 2), DEF(keepAlive, 2), DEF(shutdown_, 1), DEF(reset, 1),
	DEF(socketPair, 0),
};

void add_sockets(JSContext *ctx, JSValue sys)
{
	JS_SetPropertyFunctionList(ctx, sys, entries, COUNT(entries));
}
