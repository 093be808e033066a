/* The network: interfaces, addresses (kept in network order), packets. */
#pragma once
#include "socket.h"

static inline u16 be16(u16 v) { return v >> 8 | v << 8; }
static inline u32 be32(u32 v) { return __builtin_bswap32(v); }

#define ETHERTYPE_IP 0x0800
#define ETHERTYPE_ARP 0x0806
#define IPPROTO_ICMP 1
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define IFF_UP 1
#define IFF_BROADCAST 2
#define IFF_LOOPBACK 8
#define IFF_RUNNING 0x40
#define IFF_MULTICAST 0x1000

struct netif {
	char name[16];
	u8 mac[6];
	u32 index, flags, mtu, ip, mask, gateway;
	bool (*transmit)(struct netif *n, const u8 *frame, size_t size);
	u64 rx_packets, rx_bytes, tx_packets, tx_bytes, dropped;
	void *own;
};

struct ethernet { u8 to[6], from[6]; u16 type; } packed;
struct ip { u8 version_length, tos; u16 size, id, fragment; u8 ttl, protocol; u16 sum; u32 from, to; } packed;
struct udp { u16 from, to, size, sum; } packed;
struct icmp { u8 type, code; u16 sum, id, sequence; } packed;
struct sockaddr_in { u16 family, port; u32 address; u8 zero[8]; } packed;

extern struct netif loopback, eth0;
extern bool have_eth0;
#define LOCALHOST 0x0100007f
#define ANY 0u
#define EVERYBODY 0xffffffffu

/* device.c */
void net_receive(struct netif *n, const u8 *frame, size_t size);	/* from the driver; never sleeps */
struct netif *netif_by_name(const char *name);
struct netif *netif_by_index(u32 index);

/* ip.c */
u16 checksum(const void *data, size_t n, u32 start);
u32 pseudo_sum(u32 from, u32 to, u8 protocol, u32 size);
bool ip_is_mine(u32 address);
u32 ip_source_for(u32 to);
/* Sends a payload; `from` ANY: the interface's. 0 or an error. */
int ip_send(u32 from, u32 to, u8 protocol, const void *payload, size_t size, u8 ttl);
int ip_send_frame(struct netif *n, u32 to, u8 *frame, size_t size);
void ip_receive(struct netif *n, const u8 *packet, size_t size, bool broadcast);
void arp_receive(struct netif *n, const u8 *packet, size_t size);
void icmp_unreachable(const struct ip *original, size_t size);

/* protocols; `packet` begins with the IP header */
void udp_receive(struct netif *n, const struct ip *ip, const u8 *payload, size_t size);
void udp_error(const struct ip *inner, const u8 *payload);
void raw_receive(const struct ip *ip, size_t size);
void packet_receive(struct netif *n, const u8 *frame, size_t size);
void tcp_receive(const struct ip *ip, const u8 *payload, size_t size);
void dhcp_receive(const u8 *payload, size_t size);
bool dhcp_configure(struct netif *n);
extern bool dhcp_listening;

bool virtio_net_init(struct netif *n);
