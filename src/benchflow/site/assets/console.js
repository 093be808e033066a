// The console of a booted machine: player with markers, and its text with search. Both move
// together; `console`, `t` and `find` in the address restore what was looked at.
"use strict";

(() => {
  const { address, load, element, later, clock, marked } = benchflow;

  function show(box, recording) {
    const key = box.dataset.console;
    const lines = recording.lines;
    const screen = box.querySelector(".screen");
    let player = null;
    if (box.dataset.player !== undefined && window.AsciinemaPlayer) {
      player = AsciinemaPlayer.create({ data: recording.cast }, screen, {
        cols: recording.cols, rows: recording.rows, fit: "width", idleTimeLimit: 2,
        poster: `npt:${clock(recording.poster)}`, preload: true, terminalFontSize: "small",
        markers: recording.markers.map(([time, text]) => [time, text]), theme: "asciinema",
        terminalFontFamily: "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace",
      });
      box.player = player;
    } else if (!window.AsciinemaPlayer) {
      screen.remove();
    }

    const find = element("input", { type: "search", placeholder: "Search the console", ariaLabel: "Search the console of " + key });
    const found = element("span", { className: "found", role: "status" });
    const previous = element("button", { type: "button", textContent: "↑", ariaLabel: "Previous match" });
    const next = element("button", { type: "button", textContent: "↓", ariaLabel: "Next match" });
    const only = element("input", { type: "checkbox" });
    const onlyLabel = element("label", {}, only, " matching lines only");
    const log = element("div", { className: "log", role: "region", ariaLabel: "Console text" });
    let hits = [];
    let current = -1;
    let words = "";
    let here = -1;
    let order = null;

    const list = benchflow.list(log, {
      count: lines.length,
      estimate: 19,
      render(position) {
        const index = order ? order[position] : position;
        const [time, text] = lines[index];
        const line = element("div", { className: "line" }, element("span", { textContent: clock(time) }), element("code", {}, ...marked(text, words)));
        if (hits[current] === index) line.classList.add("hit");
        if (here === index) line.classList.add("here");
        line.addEventListener("click", () => go(index, true));
        return line;
      },
    });
    const positionOf = (index) => (order ? order.indexOf(index) : index);

    function go(index, keep) {
      here = index;
      const at = positionOf(index);
      list.refresh();
      if (at >= 0 && !list.inSight(at)) list.show(at, "center");
      player?.seek(lines[index][0]);
      if (keep) { address.set("console", key); address.set("t", lines[index][0]); }
    }
    function search() {
      words = find.value.trim().toLowerCase();
      hits = [];
      if (words) lines.forEach(([, text], index) => { if (text.toLowerCase().includes(words)) hits.push(index); });
      current = hits.length ? 0 : -1;
      order = words && only.checked ? hits : null;
      list.refresh(order ? order.length : lines.length);
      if (current >= 0) list.show(positionOf(hits[0]), "center");
      tell();
    }
    function tell() {
      found.textContent = words ? (hits.length ? `${current + 1} of ${hits.length}` : "no match") : "";
    }
    function step(by) {
      if (!hits.length) return;
      current = (current + by + hits.length) % hits.length;
      list.refresh();
      list.show(positionOf(hits[current]), "center");
      tell();
    }
    const keep = () => { address.set("console", words ? key : ""); address.set("find", words); };
    find.addEventListener("input", later(() => { search(); keep(); }));
    find.addEventListener("keydown", (event) => { if (event.key === "Enter") step(event.shiftKey ? -1 : 1); });
    previous.addEventListener("click", () => step(-1));
    next.addEventListener("click", () => step(1));
    only.addEventListener("change", search);

    const markers = element("ul", { className: "markers", ariaLabel: "Markers" });
    for (const [time, text] of recording.markers) {
      const tone = /: passed$/.test(text) ? "passed" : /: failed$/.test(text) ? "failed" : "";
      const button = element("button", { type: "button", className: tone, textContent: `${clock(time)} ${text}` });
      button.addEventListener("click", () => {
        let at = lines.findIndex(([when]) => when >= time);
        if (at < 0) at = lines.length - 1;
        if (at >= 0) go(at, false);
        player?.seek(time);
        address.set("console", key);
        address.set("t", time);
      });
      markers.append(element("li", {}, button));
    }
    const transcript = box.querySelector(".transcript");
    transcript.hidden = false;
    if (recording.markers.length) transcript.after(markers);
    if (player) box.classList.add("played");
    transcript.append(
      element("div", { className: "bar" }, find, previous, next, onlyLabel, found),
      log,
    );
    list.refresh();

    function restore() {
      if (address.get("console") !== key) return;
      find.value = address.get("find");
      if (find.value) search();
      const time = parseFloat(address.get("t"));
      if (Number.isFinite(time)) {
        const at = lines.findIndex(([when]) => when >= time);
        if (at >= 0) go(at, false);
        else player?.seek(time);
      }
    }
    restore();
    addEventListener("hashchange", restore);
    if (address.get("console") === key) box.scrollIntoView();
    box.dataset.ready = "";
  }

  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      load(target.dataset.src).then((recording) => show(target, recording), (error) => {
        target.querySelector(".transcript").hidden = false;
        target.querySelector(".transcript").textContent = error.message;
      });
    }
  }, { rootMargin: "300px" });
  const boxes = [...document.querySelectorAll("[data-console]")];
  function choose(key) {
    const chosen = boxes.find((box) => box.dataset.console === key) ?? boxes[0];
    for (const box of boxes) box.hidden = box !== chosen;
    for (const tab of tabs) tab.setAttribute("aria-selected", String(tab.dataset.of === chosen.dataset.console));
  }
  const tabs = boxes.map((box) => {
    const name = box.querySelector("h3").textContent;
    const tab = element("button", { type: "button", role: "tab", textContent: name });
    tab.dataset.of = box.dataset.console;
    tab.addEventListener("click", () => { choose(tab.dataset.of); address.set("console", tab.dataset.of); address.set("t", ""); });
    return tab;
  });
  if (boxes.length > 1) {
    boxes[0].before(element("div", { className: "tabs", role: "tablist", ariaLabel: "Machines" }, ...tabs));
    for (const box of boxes) { box.classList.add("tabbed"); box.setAttribute("role", "tabpanel"); }
    choose(address.get("console"));
    addEventListener("hashchange", () => choose(address.get("console")));
  }
  for (const box of boxes) seen.observe(box);
  if (address.get("console")) boxes.find((box) => !box.hidden)?.scrollIntoView();
})();
