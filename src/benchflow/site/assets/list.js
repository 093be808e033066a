// A list of any length: only the items in sight exist. Heights are measured, so items may fold.
"use strict";

benchflow.list = (box, { count, estimate, render }) => {
  const floor = document.createElement("div");
  box.classList.add("list");
  box.tabIndex = 0;
  box.replaceChildren(floor);
  let heights = new Float64Array(count).fill(estimate);
  let tops = new Float64Array(count + 1);
  let shown = new Map();

  function lay() {
    for (let at = 0; at < heights.length; at += 1) tops[at + 1] = tops[at] + heights[at];
    floor.style.height = tops[heights.length] + "px";
  }
  function at(y) {
    let low = 0;
    let high = heights.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (tops[middle + 1] <= y) low = middle + 1; else high = middle;
    }
    return low;
  }
  function draw() {
    const first = Math.max(0, at(box.scrollTop) - 4);
    const last = Math.min(heights.length, at(box.scrollTop + box.clientHeight) + 5);
    const next = new Map();
    for (let index = first; index < last; index += 1) {
      let item = shown.get(index);
      if (!item) {
        item = render(index);
        item.classList.add("item");
        floor.append(item);
      }
      next.set(index, item);
    }
    for (const [index, item] of shown) if (!next.has(index)) item.remove();
    shown = next;
    let changed = false;
    const anchor = at(box.scrollTop);
    const before = tops[anchor];
    for (const [index, item] of shown) {
      const height = item.offsetHeight;
      if (Math.abs(height - heights[index]) > 0.5) { heights[index] = height; changed = true; }
    }
    if (changed) {
      lay();
      const moved = tops[anchor] - before;
      if (moved) box.scrollTop += moved;
    }
    for (const [index, item] of shown) item.style.transform = `translateY(${tops[index]}px)`;
  }
  let asked = 0;
  const drawSoon = () => { if (!asked) asked = requestAnimationFrame(() => { asked = 0; draw(); }); };
  box.addEventListener("scroll", drawSoon, { passive: true });
  new ResizeObserver(() => refresh()).observe(box);
  addEventListener("beforeprint", () => {
    // Paper has no scroll bar: as much as a person would print is laid out whole.
    box.style.height = Math.min(tops[heights.length], 30000) + "px";
    draw();
  });
  addEventListener("afterprint", () => { box.style.height = ""; });

  function refresh(newCount = heights.length) {
    for (const item of shown.values()) item.remove();
    shown = new Map();
    if (newCount !== heights.length) {
      heights = new Float64Array(newCount).fill(estimate);
      tops = new Float64Array(newCount + 1);
    }
    lay();
    draw();
  }
  refresh();
  return {
    refresh,
    fold() { heights.fill(estimate); refresh(); },
    redraw(index) { shown.get(index)?.remove(); shown.delete(index); draw(); },
    show(index, place = "start") {
      const room = place === "center" ? (box.clientHeight - heights[index]) / 2 : 0;
      for (let round = 0; round < 3; round += 1) {
        box.scrollTop = tops[index] - Math.max(0, room);
        draw();
      }
    },
    inSight(index) { return tops[index] >= box.scrollTop && tops[index + 1] <= box.scrollTop + box.clientHeight; },
  };
};
