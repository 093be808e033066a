/* Interfaces: lo and eth0, what programs ask of them, and the way of frames into the kernel. */
#include "net.h"
#include "text.h"
#include "without.h"

struct netif loopback = { .name = "lo", .index = 1, .flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING, .mtu = 16384, .ip = LOCALHOST, .mask = 0x000000ff };
struct netif eth0 = { .name = "eth0", .index = 2, .flags = IFF_BROADCAST | IFF_MULTICAST, .mtu = 1500 };
bool have_eth0;

/* Frames of lo wait here for a task of the kernel's, so that nobody gets an answer while still sending. */
static struct link waiting = LINK_INIT(waiting);
static u32 waiting_count;
static WAITQUEUE(waiting_wake);

static bool loop_transmit(struct netif *n, const u8 *frame, size_t size)
{
	struct packet *p = waiting_count < 2000 ? packet_new(frame, size) : NULL;
	if (!p)
		return false;
	link_append(&waiting, &p->link);
	waiting_count++;
	wake_all(&waiting_wake);
	return true;
}

static void loop_task(void *unused)
{
	for (;;) {
		WAIT_DEEP(&waiting_wake, !link_empty(&waiting));
		struct packet *p = FIRST(&waiting, struct packet, link);
		link_remove(&p->link);
		waiting_count--;
		net_receive(&loopback, p->data, p->size);
		packet_free(p);
	}
}

void net_receive(struct netif *n, const u8 *frame, size_t size)
{
	const struct ethernet *e = (const void *)frame;
	n->rx_packets++;
	n->rx_bytes += size;
	if (size < sizeof *e || !(n->flags & IFF_UP))
		return;
	if (n != &loopback)
		packet_receive(n, frame, size);
	bool group = e->to[0] & 1;
	if (n != &loopback && !group && memcmp(e->to, n->mac, 6))
		return;
	if (e->type == be16(ETHERTYPE_IP))
		ip_receive(n, frame + sizeof *e, size - sizeof *e, group);
	else if (e->type == be16(ETHERTYPE_ARP))
		arp_receive(n, frame + sizeof *e, size - sizeof *e);
}

struct netif *netif_by_name(const char *name)
{
	return !strcmp(name, "lo") ? &loopback : have_eth0 && !strcmp(name, "eth0") ? &eth0 : NULL;
}

struct netif *netif_by_index(u32 index) { return index == 1 ? &loopback : index == 2 && have_eth0 ? &eth0 : NULL; }

struct ifreq {
	char name[16];
	union { struct sockaddr_in address; u16 flags; i32 number; struct { u16 family; u8 mac[14]; } hardware; u8 room[24]; };
};

static i64 list_interfaces(u64 arg)
{
	struct { i32 size, pad; u64 list; } conf;
	if (copy_in(&conf, arg, sizeof conf))
		return -EFAULT;
	struct netif *all[2] = { &loopback, &eth0 };
	i32 used = 0;
	for (int i = 0; i < 1 + have_eth0; i++) {
		struct ifreq r = { .address = { AF_INET, 0, all[i]->ip } };
		copy_string(r.name, all[i]->name, sizeof r.name);
		if (!all[i]->ip)
			continue;
		if (conf.list) {
			if (used + (i32)sizeof r > conf.size)
				break;
			if (copy_out(conf.list + used, &r, sizeof r))
				return -EFAULT;
		}
		used += sizeof r;
	}
	conf.size = used;
	return copy_out(arg, &conf, sizeof conf);
}

/* The default route is the only one that is not an interface's own network. */
static i64 route(u64 arg, bool add)
{
	u8 r[120];
	if (!capable())
		return -EPERM;
	if (copy_in(r, arg, sizeof r))
		return -EFAULT;
	struct sockaddr_in *to = (void *)(r + 8), *gateway = (void *)(r + 24), *mask = (void *)(r + 40);
	if (to->address == ANY && mask->address == ANY) {
		if (!add && !eth0.gateway)
			return -ESRCH;
		eth0.gateway = add ? gateway->address : ANY;
	}
	return 0;
}

static i64 set_interface(struct netif *n, u32 command, struct ifreq *r)
{
	if (!capable())
		return -EPERM;
	switch (command) {
	case 0x8914:
		n->flags = (n->flags & ~(u32)(IFF_UP | IFF_RUNNING)) | (r->flags & IFF_UP ? IFF_UP | IFF_RUNNING : 0);
		return 0;
	case 0x8916:
		n->ip = r->address.address;
		if (!n->mask)
			n->mask = 0x00ffffff;
		if (n->ip)
			n->flags |= IFF_UP | IFF_RUNNING;
		return 0;
	case 0x891c: n->mask = r->address.address; return 0;
	case 0x8922: n->mtu = MIN(MAX(r->number, 576), n == &eth0 ? 1500 : 16384); return 0;
	case 0x891a: return 0;
	}
	return -EINVAL;
}

i64 interface_ioctl(u32 command, u64 arg)
{
	struct ifreq r;
	if (command == 0x8912)
		return list_interfaces(arg);
	if (command == 0x890b || command == 0x890c)
		return route(arg, command == 0x890b);
	if (copy_in(&r, arg, sizeof r))
		return -EFAULT;
	r.name[15] = 0;
	if (command == 0x8910) {
		struct netif *n = netif_by_index(r.number);
		if (!n)
			return -ENODEV;
		copy_string(r.name, n->name, sizeof r.name);
		return copy_out(arg, &r, sizeof r);
	}
	struct netif *n = netif_by_name(r.name);
	if (!n)
		return -ENODEV;
	u32 address = 0;
	memset(r.room, 0, sizeof r.room);
	switch (command) {
	case 0x8913: r.flags = n->flags; break;
	case 0x8915: address = n->ip; break;
	case 0x8919: address = n->ip && n != &loopback ? n->ip | ~n->mask : 0; break;
	case 0x891b: address = n->mask; break;
	case 0x8917: case 0x8918: address = n->ip; break;
	case 0x8921: r.number = n->mtu; break;
	case 0x8927:
		r.hardware.family = n == &loopback ? 772 : 1;
		memcpy(r.hardware.mac, n->mac, 6);
		break;
	case 0x8933: r.number = n->index; break;
	case 0x891d: r.number = 0; break;
	case 0x8942: r.number = 1000; break;
	case 0x8970: return 0;
	case 0x8914: case 0x8916: case 0x891c: case 0x8922: case 0x891a:
		if (copy_in(&r, arg, sizeof r))
			return -EFAULT;
		return set_interface(n, command, &r);
	default: return -ENOTTY;
	}
	if (command == 0x8915 || command == 0x8919 || command == 0x891b || command == 0x8917) {
		if (command == 0x8915 && !address)
			return -EADDRNOTAVAIL;
		r.address = (struct sockaddr_in){ AF_INET, 0, address };
	}
	return copy_out(arg, &r, sizeof r);
}

static void put_device(struct text *t, struct netif *n)
{
	text_add(t, "%6s: %lu %lu 0 %lu 0 0 0 0 %lu %lu 0 0 0 0 0 0\n", n->name, n->rx_bytes, n->rx_packets, n->dropped, n->tx_bytes, n->tx_packets);
}

void tcp_list(struct text *t);
void udp_list(struct text *t);
void arp_list(struct text *t);

/* The files of /proc/net. */
void net_proc(struct text *t, int which)
{
	switch (which) {
	case 0:
		text_add(t, "Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n");
		put_device(t, &loopback);
		if (have_eth0)
			put_device(t, &eth0);
		break;
	case 1:
		text_add(t, "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n");
		if (eth0.ip && eth0.gateway)
			text_add(t, "eth0\t00000000\t%08x\t0003\t0\t0\t0\t00000000\t0\t0\t0\n", eth0.gateway);
		if (eth0.ip)
			text_add(t, "eth0\t%08x\t00000000\t0001\t0\t0\t0\t%08x\t0\t0\t0\n", eth0.ip & eth0.mask, eth0.mask);
		break;
	case 2: arp_list(t); break;
	case 3: tcp_list(t); break;
	case 4: udp_list(t); break;
	case 5: text_add(t, "Num       RefCount Protocol Flags    Type St Inode Path\n"); break;
	}
}

int unix_open(struct socket *s);
int udp_open(struct socket *s);
int tcp_open(struct socket *s);
int raw_open(struct socket *s);
int packet_open(struct socket *s);

int socket_open(struct socket *s)
{
	return s->ops == &unix_ops ? unix_open(s) : s->ops == &udp_ops ? udp_open(s) : s->ops == &tcp_ops ? tcp_open(s)
		: s->ops == &raw_ops ? raw_open(s) : packet_open(s);
}

void network_init(void)
{
	char how[16];
	loopback.transmit = loop_transmit;
	kernel_task("lo", loop_task, NULL);
#ifndef WITHOUT_NETWORK
	have_eth0 = virtio_net_init(&eth0);
#endif
	if (!have_eth0)
		return;
	printk("eth0: %02x:%02x:%02x:%02x:%02x:%02x\n", eth0.mac[0], eth0.mac[1], eth0.mac[2], eth0.mac[3], eth0.mac[4], eth0.mac[5]);
	if (boot_option("ip", how, sizeof how) && !strcmp(how, "dhcp")) {
		if (!dhcp_configure(&eth0))
			printk("ip: no address\n");
		else {
			u8 *a = (u8 *)&eth0.ip;
			printk("ip: %u.%u.%u.%u\n", a[0], a[1], a[2], a[3]);
		}
	}
}
