// What the agent did, step by step: chunks are loaded when they come into sight, so that 50,000
// steps open as quickly as five. `step` and `steps` (the search) in the address restore a view.
"use strict";

(() => {
  const { address, load, element, later, clock, marked } = benchflow;
  const OPEN_AT_FIRST = 400; // shorter ones are unfolded: reading beats clicking

  function build(box) {
    const count = Number(box.dataset.steps);
    const size = Number(box.dataset.chunk);
    const chunks = new Array(Math.ceil(count / size)).fill(null);
    const folded = new Set();
    let open = count <= OPEN_AT_FIRST;
    let words = "";
    let hits = [];
    let current = -1;
    let here = -1;
    let searching = 0;

    const find = element("input", { type: "search", placeholder: "Search the steps", ariaLabel: "Search the steps" });
    const found = element("span", { className: "found", role: "status" });
    const previous = element("button", { type: "button", textContent: "↑", ariaLabel: "Previous match" });
    const next = element("button", { type: "button", textContent: "↓", ariaLabel: "Next match" });
    const all = element("button", { type: "button", textContent: open ? "Fold all" : "Unfold all" });
    const log = element("div", { role: "region", ariaLabel: "Steps" });
    box.append(element("div", { className: "bar" }, find, previous, next, all, found), log);

    const isOpen = (index) => open !== folded.has(index);
    async function chunk(number) {
      chunks[number] ??= await load(box.dataset.src.replace("{}", number));
      return chunks[number];
    }
    function render(index) {
      const number = Math.floor(index / size);
      const steps = chunks[number];
      if (!steps) {
        chunk(number).then(() => refreshSoon(), () => refreshSoon());
        return element("div", { className: "step" }, element("header", {}, `${index + 1} …`));
      }
      const step = steps[index - number * size];
      const item = element("article", { className: `step ${step.role}${isOpen(index) ? " open" : ""}` });
      if (index === here) item.classList.add("here");
      const tools = (step.calls ?? []).map((call) => call.tool).join(", ");
      const brief = (step.text || (step.calls?.[0]?.arguments ?? "") || step.reasoning || "").slice(0, 200).replace(/\s+/g, " ");
      const facts = [
        step.at === undefined ? "" : clock(step.at),
        step.output_tokens === undefined ? "" : `${step.output_tokens.toLocaleString("en")} tokens`,
        step.cost_usd ? `$${step.cost_usd.toPrecision(2)}` : "",
      ].filter(Boolean).join(" · ");
      const head = element("header", {},
        element("b", { textContent: step.n }),
        element("span", { className: "who", textContent: step.role + (step.subagent ? ` (${step.subagent})` : "") }),
        tools ? element("span", { className: "tag", textContent: tools }) : null,
        element("span", { className: "brief", textContent: brief }),
        element("span", { textContent: facts }));
      head.addEventListener("click", () => toggle(index));
      item.append(head);
      if (isOpen(index)) {
        if (step.reasoning) item.append(element("div", { className: "text reasoning" }, ...marked(step.reasoning, words)));
        if (step.text) item.append(element("div", { className: "text" }, ...marked(step.text, words)));
        for (const call of step.calls ?? []) {
          if (call.arguments) item.append(element("pre", {}, ...marked(call.arguments, words)));
          if (call.result) item.append(element("pre", { className: "result" }, ...marked(call.result, words)));
        }
      }
      return item;
    }
    const list = benchflow.list(log, { count, estimate: open ? 160 : 50, render });
    const refreshSoon = later(() => { list.refresh(); if (here >= 0 && wanted) { list.show(here); } wanted = false; }, 30);
    let wanted = false;

    function toggle(index) {
      if (folded.has(index)) folded.delete(index); else folded.add(index);
      here = index;
      address.set("step", index + 1);
      list.refresh();
    }
    function go(index) {
      here = Math.max(0, Math.min(count - 1, index));
      wanted = !chunks[Math.floor(here / size)];
      list.refresh();
      list.show(here);
      address.set("step", here + 1);
    }
    all.addEventListener("click", () => {
      open = !open;
      folded.clear();
      all.textContent = open ? "Fold all" : "Unfold all";
      list.fold();
    });

    async function search() {
      const run = ++searching;
      words = find.value.trim().toLowerCase();
      hits = [];
      current = -1;
      if (!words) { found.textContent = ""; list.refresh(); return; }
      for (let number = 0; number < chunks.length; number += 1) {
        const steps = await chunk(number);
        if (run !== searching) return;
        steps.forEach((step, at) => {
          if (JSON.stringify(step).toLowerCase().includes(words.replace(/["\\]/g, "\\$&"))) hits.push(number * size + at);
        });
        if (current < 0 && hits.length) { current = 0; hit(); }
        found.textContent = hits.length ? `${current + 1} of ${hits.length}` : "searching …";
      }
      found.textContent = hits.length ? `${current + 1} of ${hits.length}` : "no match";
    }
    function hit() {
      const index = hits[current];
      if (!isOpen(index)) { if (folded.has(index)) folded.delete(index); else folded.add(index); }
      go(index);
      found.textContent = `${current + 1} of ${hits.length}`;
    }
    function move(by) {
      if (!hits.length) return;
      current = (current + by + hits.length) % hits.length;
      hit();
    }
    find.addEventListener("input", later(() => { address.set("steps", find.value.trim()); search(); }, 250));
    find.addEventListener("keydown", (event) => { if (event.key === "Enter") move(event.shiftKey ? -1 : 1); });
    previous.addEventListener("click", () => move(-1));
    next.addEventListener("click", () => move(1));
    addEventListener("keydown", (event) => {
      if (event.target.closest?.("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "j") go(here + 1);
      if (event.key === "k") go(here - 1);
      if (event.key === "o" && here >= 0) toggle(here);
    });

    function restore() {
      const words = address.get("steps");
      const step = Number(address.get("step"));
      if (words !== find.value) { find.value = words; search(); } else if (step >= 1) { box.scrollIntoView(); go(step - 1); }
    }
    restore();
    addEventListener("hashchange", restore);
    box.dataset.ready = "";
  }
  for (const box of document.querySelectorAll("[data-trajectory]")) build(box);
})();
