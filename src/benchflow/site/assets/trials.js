// All trials: rows come in shards by script tags; the filters stand in the address.
"use strict";

(() => {
  const { address, load, element, later } = benchflow;

  async function build(box) {
    const parts = await Promise.all(box.dataset.shards.split(" ").filter(Boolean).map(load));
    const { entries, tasks, causes } = parts[0];
    const rows = parts.flatMap((part) => part.rows);
    const verdicts = ["resolved", "failed", "error"];
    const choice = (key, label, values) => {
      const select = element("select", { ariaLabel: label }, element("option", { value: "", textContent: label }));
      for (const value of values) select.append(element("option", { value, textContent: value || "–" }));
      select.dataset.key = key;
      return select;
    };
    const find = element("input", { type: "search", placeholder: "Trial, job or cause", ariaLabel: "Search trials" });
    find.dataset.key = "find";
    const fields = [
      choice("who", "Every agent", entries), choice("task", "Every task", tasks),
      choice("verdict", "Every verdict", verdicts), choice("cause", "Every cause", causes.filter(Boolean)), find,
    ];
    const found = element("span", { className: "quiet", role: "status" });
    const log = element("div", { role: "region", ariaLabel: "Trials" });
    const head = element("div", { className: "trial-row head" },
      ...["Verdict", "Task", "Agent and model", "Milestones", "Agent's time", "Cause"].map((text, at) => element("span", { textContent: text, className: ["v", "t", "a", "r", "x", "x"][at] })));
    box.append(element("div", { className: "tools" }, ...fields, found), head, log);
    let order = rows;
    const list = benchflow.list(log, {
      count: rows.length,
      estimate: 38.4,
      render(at) {
        const [uid, who, task, verdict, passed, milestones, time, cause, trial] = order[at];
        const tone = verdicts[verdict];
        return element("a", { className: "trial-row", href: `${document.documentElement.dataset.root}trials/${uid.slice(0, 2)}/${uid}.html`, title: trial },
          element("span", { className: "v" }, element("span", { className: "dot " + tone }), element("span", { textContent: tone })),
          element("span", { className: "t", textContent: tasks[task] }),
          element("span", { className: "a", textContent: entries[who] }),
          element("span", { className: "r", textContent: milestones ? `${passed} / ${milestones}` : "" }),
          element("span", { className: "x", textContent: time }),
          element("span", { className: "x", textContent: causes[cause] }));
      },
    });
    function filter() {
      const wanted = Object.fromEntries(fields.map((field) => [field.dataset.key, field.value]));
      const [who, task, cause] = [entries.indexOf(wanted.who), tasks.indexOf(wanted.task), causes.indexOf(wanted.cause)];
      const verdict = verdicts.indexOf(wanted.verdict);
      const words = wanted.find.trim().toLowerCase();
      order = rows.filter((row) =>
        (who < 0 || row[1] === who) && (task < 0 || row[2] === task) && (verdict < 0 || row[3] === verdict)
        && (!wanted.cause || row[7] === cause)
        && (!words || `${row[8]} ${causes[row[7]]} ${tasks[row[2]]} ${entries[row[1]]}`.toLowerCase().includes(words)));
      log.scrollTop = 0;
      list.refresh(order.length);
      found.textContent = order.length === rows.length ? `${rows.length.toLocaleString("en")} trials` : `${order.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")}`;
    }
    const changed = (field) => { address.set(field.dataset.key, field.value.trim()); filter(); };
    for (const field of fields) field.addEventListener(field === find ? "input" : "change", field === find ? later(() => changed(find)) : () => changed(field));
    function restore() {
      for (const field of fields) field.value = address.get(field.dataset.key);
      for (const field of fields) if (field.tagName === "SELECT" && field.selectedIndex < 0) field.selectedIndex = 0;
      filter();
    }
    restore();
    addEventListener("hashchange", restore);
    box.dataset.ready = "";
  }
  for (const box of document.querySelectorAll("[data-trials]")) {
    build(box).catch((error) => { box.textContent = error.message; });
  }
})();
