// What every page has: the theme, the address that restores a view, tables that sort and filter,
// keys, and data that is loaded by script tags (a page opened from disk may not fetch).
"use strict";

const benchflow = (() => {
  const root = document.documentElement;
  const arrived = new Map();
  const waiting = new Map();

  try {
    const kept = localStorage.getItem("benchflow-theme");
    if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  } catch { /* storage is refused: the system's theme holds */ }

  function switchTheme() {
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("benchflow-theme", root.dataset.theme); } catch { /* as above */ }
  }

  // --- the address: #anchor, or #key=value&… with `at` for the anchor
  const address = {
    all() {
      const text = location.hash.slice(1);
      return text.includes("=") ? new URLSearchParams(text) : new URLSearchParams(text && { at: decodeURIComponent(text) });
    },
    get(key) { return address.all().get(key) ?? ""; },
    set(key, value) {
      const all = address.all();
      if (value === "" || value === null || value === undefined) all.delete(key);
      else all.set(key, String(value));
      const only = [...all.keys()];
      const text = only.length === 1 && only[0] === "at" ? all.get("at") : all.toString();
      history.replaceState(null, "", text ? "#" + text : location.pathname + location.search);
    },
  };

  // --- data by script tags
  function put(name, value) {
    arrived.set(name, value);
    waiting.get(name)?.resolve(value);
  }
  function load(name) {
    if (arrived.has(name)) return Promise.resolve(arrived.get(name));
    if (waiting.has(name)) return waiting.get(name).promise;
    const entry = {};
    entry.promise = new Promise((resolve, reject) => { entry.resolve = resolve; entry.reject = reject; });
    waiting.set(name, entry);
    const script = document.createElement("script");
    script.src = root.dataset.root + name;
    script.onerror = () => { waiting.delete(name); entry.reject(new Error("cannot load " + name)); };
    document.head.append(script);
    return entry.promise;
  }

  // --- small tools
  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (key in made && key !== "list") made[key] = value;
      else made.setAttribute(key, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }
  function later(work, milliseconds = 140) {
    let timer = 0;
    return (...given) => { clearTimeout(timer); timer = setTimeout(() => work(...given), milliseconds); };
  }
  function clock(seconds) {
    const whole = Math.max(0, Math.floor(seconds));
    const rest = String(whole % 60).padStart(2, "0");
    const minutes = Math.floor(whole / 60) % 60;
    return whole < 3600 ? `${minutes}:${rest}` : `${Math.floor(whole / 3600)}:${String(minutes).padStart(2, "0")}:${rest}`;
  }
  function marked(text, words) {
    if (!words) return [text];
    const parts = [];
    const low = text.toLowerCase();
    let from = 0;
    for (let at = low.indexOf(words); at >= 0 && parts.length < 400; at = low.indexOf(words, from)) {
      parts.push(text.slice(from, at), element("mark", { textContent: text.slice(at, at + words.length) }));
      from = at + words.length;
    }
    parts.push(text.slice(from));
    return parts;
  }

  // --- tables
  function tool(table) {
    const key = table.dataset.tools;
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    const find = element("input", { type: "search", placeholder: "Filter rows", ariaLabel: "Filter rows" });
    const found = element("span", { className: "quiet", role: "status" });
    table.closest(".scroll").before(element("div", { className: "tools" }, find, found));

    const value = (row, index) => {
      const cell = row.cells[index];
      return cell.dataset.v === undefined ? cell.textContent.trim() : Number(cell.dataset.v);
    };
    function sort(index, down) {
      const order = rows.slice().sort((a, b) => {
        const [x, y] = [value(a, index), value(b, index)];
        const way = typeof x === "number" && typeof y === "number" ? x - y
          : typeof x === "number" ? 1 : typeof y === "number" ? -1 : x.localeCompare(y, undefined, { numeric: true });
        return down ? -way : way;
      });
      body.append(...order);
      heads.forEach((head, at) => {
        if (at === index) head.setAttribute("aria-sort", down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
    }
    function filter() {
      const words = find.value.trim().toLowerCase();
      let shown = 0;
      for (const row of rows) {
        row.hidden = words !== "" && !row.textContent.toLowerCase().includes(words);
        shown += row.hidden ? 0 : 1;
      }
      found.textContent = words ? `${shown} of ${rows.length}` : "";
    }
    heads.forEach((head, index) => {
      if (head.querySelector("a")) return;
      const button = element("button", { type: "button" }, head.textContent.trim());
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        const down = now ? now === "ascending" : head.classList.contains("n");
        sort(index, down);
        address.set(key + ".sort", (down ? "-" : "") + index);
      });
      head.replaceChildren(button);
    });
    find.addEventListener("input", later(() => { filter(); address.set(key + ".find", find.value.trim()); }));
    function restore() {
      find.value = address.get(key + ".find");
      filter();
      const wanted = address.get(key + ".sort");
      if (/^-?\d+$/.test(wanted) && heads[Math.abs(Number(wanted))]) sort(Math.abs(Number(wanted)), wanted.startsWith("-"));
    }
    restore();
    addEventListener("hashchange", restore);
  }

  function goToAnchor() {
    const at = address.get("at");
    const target = at && document.getElementById(at);
    if (!target) return;
    for (let box = target; box; box = box.parentElement) if (box.tagName === "DETAILS") box.open = true;
    const inside = target.querySelector("details");
    if (inside && target.tagName === "LI") inside.open = true;
    target.scrollIntoView();
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const table of document.querySelectorAll("table[data-tools]")) tool(table);
    document.querySelector("[data-theme-switch]")?.addEventListener("click", switchTheme);
    document.querySelector(".top [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
    for (const link of document.querySelectorAll('a[href^="#"]')) {
      link.addEventListener("click", (event) => {
        if (link.classList.contains("skip")) return;
        event.preventDefault();
        address.set("at", link.getAttribute("href").slice(1));
        goToAnchor();
      });
    }
    goToAnchor();
  });
  addEventListener("hashchange", goToAnchor);
  addEventListener("beforeprint", () => {
    for (const box of document.querySelectorAll(".ladder details, .numbers")) box.open = true;
  });
  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, select, textarea");
    if (event.key === "Escape" && typing) event.target.blur();
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
      const search = [...document.querySelectorAll('input[type="search"]')].find((input) => input.offsetParent);
      if (search) { event.preventDefault(); search.focus(); search.select(); }
    }
  });

  return { address, put, load, element, later, clock, marked };
})();
