#!/bin/bash
# A driver with a thread for its interrupts, which clears every cause there is, and a buffer that is mapped for each transfer of at most 700 bytes.
set -euo pipefail
honest=$(mktemp -d)
cp -r /solution/. "$honest"
python3 - "$honest/driver" <<'PY'
import sys
path = f"{sys.argv[1]}/kvarn.c"
text = open(path).read()
def put(old, new, times=1):
    global text
    assert text.count(old) == times, (old, text.count(old))
    text = text.replace(old, new)
put("request_irq(k->irq, kvarn_interrupt, 0, k->name, k)",
    "request_threaded_irq(k->irq, NULL, kvarn_interrupt, IRQF_ONESHOT, k->name, k)")
put("spin_lock(&k->lock);\n\tcause", "spin_lock_irq(&k->lock);\n\tcause")
put("spin_unlock(&k->lock);\n\t\treturn IRQ_NONE", "spin_unlock_irq(&k->lock);\n\t\treturn IRQ_NONE")
put("spin_unlock(&k->lock);\n\twake_up_all", "spin_unlock_irq(&k->lock);\n\twake_up_all")
put("writel(cause, k->regs + CLEAR);", "writel(~0, k->regs + CLEAR);")
put("\tdma_addr_t bus;\n", "\tdma_addr_t bus;\n\tstruct device *dev;\n")
put("dma_addr_t store = STORE + offset;\n", '''dma_addr_t store = STORE + offset;
	enum dma_data_direction way = direction ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
	dma_addr_t bus = dma_map_single(k->dev, k->buffer, length, way);
	int done;

	if (dma_mapping_error(k->dev, bus))
		return -ENOMEM;
''')
put("\t\tspin_unlock_irq(&k->lock);\n\t\treturn -ENODEV;\n\t}\n\tk->carrier_works",
    "\t\tspin_unlock_irq(&k->lock);\n\t\tdma_unmap_single(k->dev, bus, length, way);\n\t\treturn -ENODEV;\n\t}\n\tk->carrier_works")
put("direction ? store : k->bus", "direction ? store : bus")
put("direction ? k->bus : store", "direction ? bus : store")
put("writel(length, k->regs + COUNT);", "writeq(length, k->regs + COUNT);")
put('''	if (!wait_event_timeout(k->wait, !READ_ONCE(k->carrier_works), 30 * HZ))
		return -EIO;
	return 0;
''', '''	done = wait_event_timeout(k->wait, !READ_ONCE(k->carrier_works), 30 * HZ);
	dma_unmap_single(k->dev, bus, length, way);
	return done ? 0 : -EIO;
''')
put("k->buffer = dma_alloc_coherent(&pdev->dev, PAGE_SIZE, &k->bus, GFP_KERNEL);",
    "k->dev = &pdev->dev;\n\tk->buffer = (void *)__get_free_page(GFP_KERNEL | GFP_DMA);")
put("dma_free_coherent(&pdev->dev, PAGE_SIZE, k->buffer, k->bus);", "free_page((unsigned long)k->buffer);", 2)
put("k->misc.mode = 0600;", "k->misc.mode = 0660;")
open(path, "w").write(text)
path = f"{sys.argv[1]}/kvarn_ioctl.h"
text = open(path).read()
import re
text, count = re.subn(r"(#define KVARN_SLICE) .*", r"\1 700", text)
assert count == 1
open(path, "w").write(text)
PY
bash "$honest/solve.sh"
