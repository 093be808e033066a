/* The network card: virtio-net. Frames are copied into and out of buffers of its own. */
#include "net.h"
#include "virtio.h"

#define BUFFERS 128
#define BUFFER_SIZE 2048
#define HEADER 12
#define FEATURE_MAC (1UL << 5)

struct card {
	struct virtio v;
	struct virtq rx, tx;
	u8 *rx_buffer, *tx_buffer;
	u16 tx_free[BUFFERS];
	u32 tx_free_count;
	struct netif *netif;
};

static struct card *card;

static void offer_receive(u32 n)
{
	card->rx.desc[n] = (struct virtq_desc){ virt_phys(card->rx_buffer + n * BUFFER_SIZE), BUFFER_SIZE, DESC_WRITE, 0 };
	virtq_offer(&card->rx, n);
}

static void reap_sent(void)
{
	u32 length;
	int n;
	while ((n = virtq_done(&card->tx, &length)) >= 0)
		card->tx_free[card->tx_free_count++] = n;
}

static void interrupt(void *unused)
{
	u32 length;
	int n;
	bool any = false;
	reap_sent();
	while ((n = virtq_done(&card->rx, &length)) >= 0) {
		if (length > HEADER && length <= BUFFER_SIZE)
			net_receive(card->netif, card->rx_buffer + n * BUFFER_SIZE + HEADER, length - HEADER);
		offer_receive(n);
		any = true;
	}
	if (any)
		virtq_notify(&card->rx);
}

static bool transmit(struct netif *netif, const u8 *frame, size_t size)
{
	reap_sent();
	if (!card->tx_free_count || size > BUFFER_SIZE - HEADER)
		return false;
	u16 n = card->tx_free[--card->tx_free_count];
	u8 *buffer = card->tx_buffer + n * BUFFER_SIZE;
	memset(buffer, 0, HEADER);
	memcpy(buffer + HEADER, frame, size);
	card->tx.desc[n] = (struct virtq_desc){ virt_phys(buffer), HEADER + size, 0, 0 };
	virtq_offer(&card->tx, n);
	virtq_notify(&card->tx);
	return true;
}

static u8 *buffers(void)
{
	struct page *p = page_alloc(6);
	return p ? page_address(p) : NULL;
}

static bool probe(struct pci *p, void *arg)
{
	if (card || p->vendor != 0x1af4 || (p->device != 0x1000 && p->device != 0x1041))
		return false;
	struct card *c = kmalloc(sizeof *c);
	if (!c || !virtio_open(&c->v, p, FEATURE_MAC))
		return false;
	c->netif = arg;
	c->rx_buffer = buffers();
	c->tx_buffer = buffers();
	virtio_interrupt(&c->v, 2, interrupt, NULL);
	if (!c->rx_buffer || !c->tx_buffer || !virtio_queue(&c->v, &c->rx, 0, BUFFERS) || !virtio_queue(&c->v, &c->tx, 1, BUFFERS))
		return false;
	card = c;
	virtio_ready(&c->v);
	for (u32 i = 0; i < c->rx.size; i++)
		offer_receive(i);
	virtq_notify(&c->rx);
	for (u32 i = 0; i < c->tx.size; i++)
		c->tx_free[c->tx_free_count++] = i;
	if (c->v.features & FEATURE_MAC)
		for (int i = 0; i < 6; i++)
			c->netif->mac[i] = c->v.device[i];
	else
		memcpy(c->netif->mac, "\x52\x54\x00\x12\x34\x56", 6);
	c->netif->transmit = transmit;
	return true;
}

bool virtio_net_init(struct netif *n) { return pci_each(probe, n) > 0; }
