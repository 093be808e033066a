// The page of ratings: keeps what is typed, says what is missing, signs and saves or sends.
"use strict";
(() => {
  const about = answers.about();
  const form = document.getElementById("rate");
  const DRAFT = `benchflow-draft-${about.pack.slice(0, 16)}`;
  const byName = (name) => form.elements.namedItem(name);
  const draft = {
    fields: {}, doubts: {}, timers: {}, order: null, revision: 0, seconds: 0,
    ...(answers.kept(DRAFT) || {}),
  };
  let isSent = false; // then nothing is kept any more
  const keep = () => { if (!isSent) answers.keep(DRAFT, draft); };
  const value = (name) => {
    const field = byName(name);
    if (!field) return "";
    return field.type === "checkbox" ? field.checked : field.value;
  };

  // ---- pairs: in an order of each rater's own, which a reload does not change
  function shuffled(list) {
    const drawn = [...list];
    for (let i = drawn.length - 1; i > 0; i--) {
      const j = Math.floor((crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32) * (i + 1));
      [drawn[i], drawn[j]] = [drawn[j], drawn[i]];
    }
    return drawn;
  }
  const nameOf = (a, b) => `pair.${[a, b].sort().join("|")}`;
  function makePairs() {
    const list = document.getElementById("pair-list");
    if (!list) return;
    const known = new Set(about.pairs.map(([a, b]) => nameOf(a, b)));
    const fits = draft.order?.length === known.size
      && draft.order.every(([a, b]) => known.has(nameOf(a, b)));
    if (!fits) draft.order = shuffled(about.pairs.map(shuffled));
    for (const [a, b] of draft.order) {
      const box = document.createElement("fieldset");
      box.className = "pair";
      box.id = nameOf(a, b);
      const legend = document.createElement("legend");
      legend.textContent = `${a} or ${b}?`;
      const options = document.createElement("div");
      options.className = "options";
      for (const [chosen, words] of [[a, a], [b, b], ["none", "Cannot say"]]) {
        const label = document.createElement("label");
        label.className = "option";
        const input = document.createElement("input");
        Object.assign(input, { type: "radio", name: nameOf(a, b), value: chosen });
        const text = document.createElement("span");
        text.textContent = words;
        label.append(input, text);
        options.append(label);
      }
      box.append(legend, options);
      list.append(box);
    }
  }

  // ---- demands that are doubted: rows that come and go
  function addDoubt(task, given = {}) {
    const row = form.querySelector(`template[data-row="${task}"]`).content.firstElementChild.cloneNode(true);
    row.setAttribute("aria-label", "A demand that is unfair or unclear");
    for (const part of row.querySelectorAll("[data-part]")) {
      if (given[part.dataset.part] !== undefined) part.value = given[part.dataset.part];
    }
    form.querySelector(`[data-doubts="${task}"]`).append(row);
    return row;
  }
  const doubtsOf = (task) =>
    [...form.querySelectorAll(`[data-doubts="${task}"] .doubt`)].map((row) =>
      Object.fromEntries([...row.querySelectorAll("[data-part]")].map((p) => [p.dataset.part, p.value])));

  // ---- the timer of a try: counts while it runs, a reload included
  const spent = (timer) => timer.spent + (timer.since ? Date.now() - timer.since : 0);
  function showTimer(task) {
    const timer = draft.timers[task] || { spent: 0, since: 0 };
    const whole = Math.floor(spent(timer) / 1000);
    const two = (n) => String(n).padStart(2, "0");
    document.getElementById(`${task}-clock`).textContent =
      `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
    form.querySelector(`[data-timer="${task}"]`).textContent =
      timer.since ? "Pause the timer" : timer.spent ? "Continue the timer" : "Start the timer";
  }
  function turnTimer(task) {
    const timer = (draft.timers[task] ||= { spent: 0, since: 0 });
    if (timer.since) {
      timer.spent = spent(timer);
      timer.since = 0;
      byName(`${task}.minutes`).value = (timer.spent / 60000).toFixed(1);
    } else timer.since = Date.now();
    note();
    showTimer(task);
  }

  // ---- the draft
  function note() {
    draft.fields = {};
    for (const field of form.elements) {
      if (!field.name) continue;
      if (field.type === "radio") { if (field.checked) draft.fields[field.name] = field.value; }
      else if (field.type === "checkbox") draft.fields[field.name] = field.checked;
      else draft.fields[field.name] = field.value;
    }
    about.tasks.forEach((_, at) => { draft.doubts[`t${at}`] = doubtsOf(`t${at}`); });
    keep();
    showState();
    refresh();
  }
  function restore() {
    for (const [name, given] of Object.entries(draft.fields)) {
      const field = byName(name);
      if (!field) continue;
      if (field.type === "checkbox") field.checked = given === true;
      else field.value = given;
    }
    about.tasks.forEach((_, at) => {
      for (const one of draft.doubts[`t${at}`] || []) addDoubt(`t${at}`, one);
    });
  }

  // ---- what is missing
  const isSkipped = (at) => value(`t${at}.skip`);
  const number = (name) => {
    const text = value(name);
    return text === "" ? null : Number(text);
  };
  function hoursOf(task) {
    return { low: number(`${task}.low`), likely: number(`${task}.likely`), high: number(`${task}.high`) };
  }
  function faultsOf(at) {
    const task = `t${at}`, name = about.tasks[at].name, found = [];
    const ask = (field, words) => found.push([`${task}.${field}`, `${name}: ${words}`]);
    if (!value(`${task}.work`)) ask("work", "say whether such work is yours");
    if (!value(`${task}.nohours`)) {
      const { low, likely, high } = hoursOf(task);
      const all = [low, likely, high];
      if (all.some((n) => n === null)) ask("hours", "give three numbers of hours, or say that you cannot");
      else if (all.some((n) => !Number.isFinite(n) || n < 0.01 || n > 10000)) ask("hours", "hours are between 0.01 and 10,000");
      else if (!(low <= likely && likely <= high)) ask("hours", "the three hours must rise, from low over likely to high");
    }
    if (!value(`${task}.sign`)) ask("sign", "say whether you would sign");
    if (!value(`${task}.pay`)) ask("pay", "say whether you would pay");
    if (doubtsOf(task).some((one) => !one.demand)) ask("doubts", "choose the demand, or remove the row");
    const minutes = number(`${task}.minutes`);
    if (value(`${task}.tried`) && !(minutes >= 0 && minutes <= 100000 && minutes !== null)) {
      ask("try", "give the minutes of your try, or say that you did not try it");
    }
    return found;
  }
  const openPairs = () => (draft.order || []).filter(([a, b]) =>
    !isSkipped(about.tasks.findIndex((task) => task.name === a))
    && !isSkipped(about.tasks.findIndex((task) => task.name === b)));
  function faults() {
    const rated = about.tasks.map((_, at) => at).filter((at) => !isSkipped(at));
    const found = rated.flatMap(faultsOf);
    if (!rated.length) found.push(["t0", "rate at least one task"]);
    for (const [a, b] of openPairs()) {
      if (!value(nameOf(a, b))) found.push([nameOf(a, b), `say which is harder: ${a} or ${b}`]);
    }
    if (!value("consent")) found.push(["consent-field", "tick the box if you agree"]);
    return found;
  }
  function showState() {
    // What is open leads to the first question of it.
    const say = (key, words, complete, first = "") => {
      const place = document.querySelector(`[data-state="${key}"]`);
      if (!place) return;
      if (place.textContent !== words || place.dataset.first !== first) place.replaceChildren(first ? linkTo(first, words, goTo) : words);
      place.dataset.first = first;
      place.classList.toggle("complete", complete);
    };
    about.tasks.forEach((_, at) => {
      const task = `t${at}`;
      document.getElementById(task).classList.toggle("skipped", isSkipped(at));
      const missing = faultsOf(at);
      if (isSkipped(at)) say(task, "skipped", false);
      else if (missing.length) say(task, `${missing.length} to answer`, false, missing[0][0]);
      else say(task, "✓ complete", true);
    });
    for (const [a, b] of draft.order || []) {
      document.getElementById(nameOf(a, b)).hidden = !openPairs().some((p) => p[0] === a && p[1] === b);
    }
    const left = openPairs().filter(([a, b]) => !value(nameOf(a, b)));
    if (left.length) say("pairs", `${left.length} to answer`, false, nameOf(...left[0]));
    else say("pairs", "✓ complete", true);
    if (!isSent) document.getElementById("kept").textContent = answers.isLasting()
      ? "Answers are kept in this browser while you type."
      : "This browser keeps nothing: leave the page open until you are done.";
  }
  const linkTo = (place, words, go) => {
    const link = Object.assign(document.createElement("a"), { href: `#${place}`, textContent: words });
    link.addEventListener("click", (event) => { event.preventDefault(); go(place); });
    return link;
  };
  let shown = ""; // what the list of what is missing says now, "" while there is none
  function list(title, found) {
    const box = document.getElementById("faults");
    box.replaceChildren();
    document.querySelectorAll(".wrong").forEach((one) => one.classList.remove("wrong"));
    document.querySelectorAll(".to-list").forEach((one) => one.remove());
    box.hidden = !found.length;
    shown = "";
    if (!found.length) return;
    const head = document.createElement("p");
    head.textContent = title;
    const items = document.createElement("ul");
    for (const [place, words] of found) {
      const item = document.createElement("li");
      if (place) {
        item.append(linkTo(place, words, goTo));
        mark(document.getElementById(place));
      } else item.textContent = words;
      items.append(item);
    }
    box.append(head, items);
  }
  // A question that is missing leads back to the list that named it.
  function mark(target) {
    target.classList.add("wrong");
    const back = document.createElement("p");
    back.className = "to-list";
    back.append(linkTo("faults", "Back to what is missing", toList));
    if (target.matches("section")) target.querySelector(".skip-task").after(back);
    else if (target.matches("label")) target.after(back);
    else target.append(back);
  }
  function toList() {
    const box = document.getElementById("faults");
    box.scrollIntoView({ block: "center", behavior: "instant" });
    box.focus({ preventScroll: true });
  }
  const MISSING = "Not yet complete:";
  const told = (found) => JSON.stringify(found);
  function listMissing(found) {
    list(MISSING, found);
    shown = found.length ? told(found) : "";
  }
  // While it is shown, it says what is missing now, not what was when the button was pressed.
  function refresh() {
    if (!shown) return;
    const found = faults();
    if (told(found) === shown) return;
    listMissing(found);
  }
  function goTo(place) {
    const target = document.getElementById(place);
    if (target.matches("details")) target.open = true;
    target.scrollIntoView({ block: "center", behavior: "instant" });
    target.querySelector("input, select, textarea")?.focus({ preventScroll: true });
  }

  // ---- the answers
  function taskAnswers(at) {
    const task = `t${at}`;
    const outcome = value(`${task}.tried`);
    return {
      task: about.tasks[at].name, digest: about.tasks[at].digest,
      work: value(`${task}.work`), sign: value(`${task}.sign`), pay: value(`${task}.pay`),
      hours: value(`${task}.nohours`) ? null : hoursOf(task),
      doubts: doubtsOf(task), exploit: value(`${task}.exploit`).trim(),
      tried: outcome ? { minutes: number(`${task}.minutes`), outcome } : null,
    };
  }
  async function body() {
    draft.revision += 1;
    keep();
    return {
      schema: 1, kind: "rating", id: answers.random(), pack: about.pack,
      revision: draft.revision, made: answers.now(), rehearsal: about.rehearsal,
      link: await answers.linkHash(about.served), consent: true,
      name: value("name").trim(), comment: value("comment").trim(), seconds: Math.round(draft.seconds),
      tasks: about.tasks.map((_, at) => at).filter((at) => !isSkipped(at)).map(taskAnswers),
      pairs: openPairs().map(([a, b]) => {
        const chosen = value(nameOf(a, b));
        return { a, b, harder: chosen === "none" ? "" : chosen };
      }),
    };
  }
  function done(paragraphs) {
    const box = document.getElementById("done");
    box.replaceChildren(...paragraphs.map((parts) => {
      const p = document.createElement("p");
      p.append(...parts);
      return p;
    }));
    box.hidden = false;
    box.focus();
  }
  const strong = (text) => Object.assign(document.createElement("b"), { textContent: text });
  async function finish(how) {
    note();
    document.getElementById("done").hidden = true;
    if (!answers.canSign()) {
      list("Your answers are kept, and cannot be signed here:", [["", "open this page from a file or over https; a browser signs nowhere else"]]);
      toList();
      return;
    }
    const found = faults();
    listMissing(found);
    if (found.length) { toList(); return; }
    const made = await body();
    const text = await answers.signed(made);
    if (how === "send") {
      const button = document.getElementById("send");
      button.disabled = true;
      try {
        const said = await answers.send(about.served, text);
        const link = Object.assign(document.createElement("a"), { href: said.deletion, textContent: said.deletion });
        done([[strong("Sent. Thank you!")], ["Keep this link: it deletes your answers. ", link]]);
        isSent = true;
        answers.forget(DRAFT);
        answers.close();
      } catch (error) {
        button.disabled = false;
        list("Not sent:", [["", error.message]]);
        toList();
      }
      return;
    }
    const name = `ratings-${about.pack.slice(0, 8)}-${made.id.slice(0, 8)}.json`;
    answers.save(name, text);
    done([[strong(`Saved as ${name}. Thank you!`)],
      ["Send this file back to who asked you. Number of these answers, should you want them deleted: ", made.id]]);
  }

  // ---- all together
  makePairs();
  restore();
  showState();
  about.tasks.forEach((_, at) => showTimer(`t${at}`));
  form.addEventListener("input", note);
  form.addEventListener("change", note);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    finish(about.served ? "send" : "save");
  });
  if (about.served) document.getElementById("save").addEventListener("click", () => finish("save"));
  form.addEventListener("click", (event) => {
    const { add, timer, reset } = event.target.dataset;
    if (add) addDoubt(add).querySelector("select").focus();
    if (event.target.matches("[data-remove]")) {
      const task = event.target.closest("[data-doubts]").dataset.doubts;
      event.target.closest(".doubt").remove();
      form.querySelector(`[data-add="${task}"]`).focus();
    }
    if (timer) turnTimer(timer);
    if (reset) { draft.timers[reset] = { spent: 0, since: 0 }; byName(`${reset}.minutes`).value = ""; showTimer(reset); }
    if (add || timer || reset || event.target.matches("[data-remove]")) note();
  });
  document.getElementById("erase").addEventListener("click", () => {
    answers.forget(DRAFT);
    answers.forget("benchflow-rater-key");
    location.reload();
  });
  setInterval(() => {
    if (document.visibilityState !== "visible") return;
    draft.seconds += 1;
    if (Object.values(draft.timers).some((timer) => timer.since)) {
      about.tasks.forEach((_, at) => showTimer(`t${at}`));
    }
    if (draft.seconds % 10 === 0) keep();
  }, 1000);
})();
