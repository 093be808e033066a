// Pairs one after another: two consoles on one clock, a vote, and at the end one signed file.
"use strict";
(() => {
  const about = answers.about();
  const STORED = `benchflow-arena-${about.pack}`;
  const IDLE = 2; // seconds: where neither prints for longer, the clock runs on
  const SPEEDS = [1, 4, 16];
  const element = (tag, values = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), values);
    made.append(...children);
    return made;
  };
  const pairOf = Object.fromEntries(about.pairs.map((pair) => [pair.id, pair]));
  const bit = () => crypto.getRandomValues(new Uint8Array(1))[0] & 1;

  // ---- what is drawn once for this browser, and what was voted so far
  function drawn() {
    const order = about.pairs.map((pair) => pair.id);
    for (let at = order.length - 1; at > 0; at -= 1) {
      const other = crypto.getRandomValues(new Uint32Array(1))[0] % (at + 1);
      [order[at], order[other]] = [order[other], order[at]];
    }
    const turned = {};
    for (const pair of about.pairs) turned[[...pair.sides].sort().join()] ??= bit();
    return { order, turned, at: -1, votes: {}, spent: {}, name: "", revision: 0 };
  }
  function fits(found) {
    return found && Array.isArray(found.order) && found.order.length === about.pairs.length &&
      found.order.every((id) => pairOf[id]);
  }
  const draft = fits(answers.kept(STORED)) ? answers.kept(STORED) : drawn();
  let isSent = false; // then nothing is kept any more
  const keep = () => { if (!isSent) answers.keep(STORED, draft); };
  const sidesOf = (pair) => {
    const two = [...pair.sides];
    return draft.turned[[...two].sort().join()] ? two.reverse() : two;
  };
  const spentOn = (id) => (draft.spent[id] ??= { seconds: 0, played: 0 });

  // ---- whether a pair was looked at: consoles played or moved, or to their end; or, for some
  // seconds, screens or documents in view
  const LOOKS = ["none", "part", "end"];
  const IN_VIEW = 3; // seconds
  const lookedAt = (id) => spentOn(id).looked ?? "none";
  function look(id, how) {
    const spent = spentOn(id);
    if (LOOKS.indexOf(how) > LOOKS.indexOf(lookedAt(id))) spent.looked = how;
  }
  function watch(id) {
    const seen = [...document.querySelectorAll(`#p-${id} figure, #p-${id} details.words[open]`)].some((one) => {
      const { top, bottom } = one.getBoundingClientRect();
      const shown = Math.min(bottom, innerHeight) - Math.max(top, 0);
      return shown > 0 && shown >= Math.min(bottom - top, innerHeight) / 3;
    });
    if (!seen) return;
    const spent = spentOn(id);
    spent.viewed = (spent.viewed ?? 0) + 1;
    if (spent.viewed >= IN_VIEW) look(id, "part");
  }

  // ---- two consoles on one clock
  function timeline(consoles) {
    const times = [...new Set(consoles.flatMap((one) => one.lines.map(([at]) => at)))].sort((a, b) => a - b);
    const places = new Map();
    let before = 0;
    let shown = 0;
    for (const time of times) {
      shown += Math.min(time - before, IDLE);
      before = time;
      places.set(time, shown);
    }
    return { places, length: shown };
  }
  const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

  function stage(pair) {
    const [left, right] = sidesOf(pair).map((id) => about.sides[id]);
    const box = element("div");
    const machines = [...new Set([...left.consoles, ...right.consoles].map((one) => one.machine))];
    const columns = [["Left", left], ["Right", right]].map(([label, side]) => {
      const count = element("span", { className: "quiet" });
      const screen = element("pre", { className: "console", tabIndex: 0 });
      screen.setAttribute("role", "region");
      const column = element("section", {}, element("h2", {}, label, count));
      column.setAttribute("aria-label", label);
      if (machines.length) column.append(screen);
      for (const one of side.screens) {
        const alt = `Screenshot of the machine “${one.machine}”, ${label.toLowerCase()}`;
        const full = element("button", { type: "button", textContent: "Actual size" });
        full.setAttribute("aria-label", `Actual size: ${alt.toLowerCase()}`);
        full.setAttribute("aria-pressed", "false");
        const frame = element("div", { className: "frame", tabIndex: 0 }, element("img", { src: `data:image/png;base64,${one.png}`, alt }));
        frame.setAttribute("role", "region");
        frame.setAttribute("aria-label", alt);
        full.addEventListener("click", () => full.setAttribute("aria-pressed", String(frame.classList.toggle("actual"))));
        const caption = element("span", {}, `Screen of “${one.machine}”`);
        if (!machines.includes(one.machine) && pair.machines[one.machine]) caption.append(`: ${pair.machines[one.machine]}`);
        column.append(element("figure", {}, frame, element("figcaption", {}, caption, full)));
      }
      for (const [title, text] of side.words) {
        const shown = element("pre", { textContent: text, tabIndex: 0 });
        shown.setAttribute("role", "region");
        shown.setAttribute("aria-label", `${title}, ${label.toLowerCase()}`);
        column.append(element("details", { className: "words", open: true }, element("summary", { textContent: title }), shown));
      }
      return { label, side, screen, count, column, told: -1 };
    });
    let stop = () => {};
    if (machines.length) {
      const player = transport(pair, columns, machines);
      box.append(...player.controls);
      stop = player.stop;
    }
    box.append(element("div", { className: "two" }, ...columns.map((one) => one.column)));
    return { box, stop };
  }

  function transport(pair, columns, machines) {
    let now = 0;
    let running = 0;
    let line = { places: new Map(), length: 0 };
    let shown = [];
    const play = element("button", { type: "button", textContent: "Play" });
    const end = element("button", { type: "button", textContent: "Go to the end" });
    const slider = element("input", { type: "range", min: 0, max: 1000, value: 0, ariaLabel: "Time, both consoles" });
    const where = element("output", { ariaLive: "off" });
    const what = element("p", { className: "what", ariaLive: "polite" });
    const speed = element("select", { ariaLabel: "Speed" }, ...SPEEDS.map((times) => element("option", { value: times, textContent: `${times} ×`, selected: times === 4 })));
    const tabs = machines.map((name) => {
      const tab = element("button", { type: "button", textContent: name });
      tab.addEventListener("click", () => choose(name));
      return tab;
    });

    function choose(name) {
      halt();
      tabs.forEach((tab) => tab.setAttribute("aria-pressed", String(tab.textContent === name)));
      what.replaceChildren("Machine ", element("b", { textContent: name }), ": ", pair.machines[name] ?? "its task does not say what it is for; our tests named it.");
      shown = columns.map((one) => one.side.consoles.find((found) => found.machine === name) ?? { lines: [], seconds: 0 });
      line = timeline(shown);
      columns.forEach((one, at) => {
        one.told = -1;
        one.count.textContent = shown[at].lines.length ? "" : "printed nothing";
        one.screen.setAttribute("aria-label", `Console of “${name}”, ${one.label.toLowerCase()}`);
      });
      seek(0);
    }
    function seek(to) {
      now = Math.max(0, Math.min(to, line.length));
      slider.value = line.length ? Math.round((1000 * now) / line.length) : 1000;
      const text = `${clock(now)} of ${clock(line.length)}`;
      where.textContent = text;
      slider.setAttribute("aria-valuetext", text);
      columns.forEach((one, at) => {
        const lines = shown[at].lines;
        let n = 0;
        while (n < lines.length && line.places.get(lines[n][0]) <= now + 1e-6) n += 1;
        if (n === one.told) return;
        one.told = n;
        one.screen.textContent = lines.slice(0, n).map(([, text]) => text).join("\n") ||
          (lines.length ? "" : "(nothing was printed)");
        one.screen.scrollTop = one.screen.scrollHeight;
      });
      if (now >= line.length) halt();
    }
    // What a voter did, not where a new console begins.
    function go(to) {
      seek(to);
      look(pair.id, now >= line.length ? "end" : "part");
      seen();
    }
    function halt() {
      if (running) clearInterval(running);
      running = 0;
      play.textContent = "Play";
    }
    play.addEventListener("click", () => {
      if (running) { halt(); return; }
      if (now >= line.length) seek(0);
      let then = performance.now();
      play.textContent = "Pause";
      running = setInterval(() => {
        const passed = (performance.now() - then) / 1000;
        then = performance.now();
        spentOn(pair.id).played += passed;
        go(now + passed * Number(speed.value));
      }, 50);
    });
    end.addEventListener("click", () => { halt(); go(line.length); });
    slider.addEventListener("input", () => { halt(); go((line.length * slider.value) / 1000); });
    choose(machines[0]);
    const note = element("p", { className: "clock-note", textContent: `One clock for both. Where neither prints for more than ${IDLE} seconds, the rest of the wait is left out, so the clock is shorter than the machines’ own time.` });
    const controls = [what, element("div", { className: "transport" }, play, end, slider, where, speed), note];
    if (machines.length > 1) controls.unshift(element("div", { className: "machines" }, element("span", { textContent: "Machines, each started with what was delivered, in a situation of its own:" }), ...tabs));
    return { controls, stop: halt };
  }

  // ---- one pair at a time
  let open = null;
  let warned = ""; // the pair whose voter was told that nothing was looked at
  const sections = [...document.querySelectorAll("section.pair")];
  const finish = document.getElementById("finish");
  const start = document.getElementById("start");
  const hasConsoles = (id) => pairOf[id].sides.some((side) => about.sides[side].consoles.length);
  const isVoted = (id) => pairOf[id].questions.every((one) => draft.votes[id]?.choices?.[one]);

  function show(at, focus = true) {
    open?.stop();
    open = null;
    draft.at = at;
    start.hidden = at >= 0;
    finish.hidden = at < draft.order.length;
    const id = draft.order[at];
    for (const section of sections) {
      section.hidden = section.dataset.pair !== id;
      if (section.hidden) section.querySelector(".stage").replaceChildren();
    }
    if (id) {
      const section = document.getElementById(`p-${id}`);
      open = stage(pairOf[id]);
      section.querySelector(".stage").replaceChildren(open.box);
      section.querySelector("[data-place]").textContent = `Pair ${at + 1} of ${draft.order.length}`;
      section.querySelector("[data-next]").textContent = at + 1 < draft.order.length ? "Next pair" : "To the end";
      for (const console of section.querySelectorAll(".console")) console.scrollTop = console.scrollHeight;
    }
    if (at >= draft.order.length) overview();
    warned = "";
    keep();
    scrollTo(0, 0);
    if (focus) document.querySelector("main section:not([hidden]) h1[tabindex], main section:not([hidden]) .primary").focus({ preventScroll: true });
  }
  function fault(section, words) {
    const box = section.querySelector(".faults");
    box.textContent = words;
    box.hidden = !words;
    if (words) box.focus();
  }
  for (const section of sections) {
    const { pair: id } = section.dataset;
    const vote = (draft.votes[id] ??= { choices: {}, remark: "" });
    for (const [question, value] of Object.entries(vote.choices)) {
      const input = section.querySelector(`input[name="${id}.${question}"][value="${value}"]`);
      if (input) input.checked = true;
    }
    const remark = section.querySelector("textarea");
    remark.value = vote.remark;
    section.addEventListener("input", (event) => {
      if (event.target === remark) vote.remark = remark.value;
      else if (event.target.type === "radio") vote.choices[event.target.name.split(".")[1]] = event.target.value;
      if (isVoted(id)) fault(section, "");
      keep();
    });
    section.querySelector("[data-next]").addEventListener("click", () => {
      if (!isVoted(id)) fault(section, "Answer each question first; “No difference” is an answer.");
      else if (lookedAt(id) === "none" && warned !== id) {
        warned = id;
        fault(section, `You have not looked at either side yet: ${hasConsoles(id) ? "play the consoles, or go to their end" : "look at what each delivered"}. Press the button again to vote all the same; the vote is then marked as one without a look, and is not counted.`);
      } else show(draft.at + 1);
    });
  }
  // What was looked at may be done after the warning.
  function seen() {
    if (!warned) return;
    fault(document.getElementById(`p-${warned}`), "");
    warned = "";
  }

  // ---- all pairs at the end, each with the way back to it
  function overview() {
    const rows = draft.order.map((id, at) => {
      const label = !isVoted(id) ? "not voted on yet" : lookedAt(id) === "none" ? "voted on without a look: not counted" : "voted on";
      const back = element("button", { type: "button", textContent: `Pair ${at + 1}: ${pairOf[id].task}` });
      back.addEventListener("click", () => show(at));
      return element("li", {}, back, element("span", { className: "quiet", textContent: ` ${label}` }));
    });
    document.getElementById("overview").replaceChildren(...rows);
  }
  for (const back of document.querySelectorAll("[data-back]")) back.addEventListener("click", () => show(draft.at - 1));
  document.getElementById("begin").addEventListener("click", () => show(0));
  document.getElementById("arena").addEventListener("submit", (event) => event.preventDefault());
  setInterval(() => {
    const id = draft.order[draft.at];
    if (!id || document.visibilityState !== "visible") return;
    spentOn(id).seconds += 1;
    watch(id);
  }, 1000);
  addEventListener("pagehide", keep);

  // ---- the end
  const name = document.getElementById("name");
  const consent = document.getElementById("consent");
  name.value = draft.name;
  name.addEventListener("input", () => { draft.name = name.value; keep(); });

  async function body() {
    draft.revision += 1;
    keep();
    const votes = draft.order.map((id) => {
      const { seconds, played } = spentOn(id);
      const { choices, remark } = draft.votes[id];
      return {
        pair: id, left: sidesOf(pairOf[id])[0], choices, remark: remark.trim(),
        seconds: Math.round(seconds), played: Math.round(played), looked: lookedAt(id),
      };
    });
    return {
      schema: 1, kind: "votes", id: answers.random(), pack: about.pack, revision: draft.revision,
      made: answers.now(), rehearsal: about.rehearsal, link: await answers.linkHash(about.served),
      consent: true, name: name.value.trim(), votes,
      seconds: votes.reduce((sum, vote) => sum + vote.seconds, 0),
    };
  }
  function told(...paragraphs) {
    const box = document.getElementById("done");
    box.replaceChildren(...paragraphs.map((parts) => element("p", {}, ...[parts].flat())));
    box.hidden = false;
    box.focus();
  }
  async function hand(how) {
    fault(finish, "");
    const missing = draft.order.findIndex((id) => !isVoted(id));
    if (missing >= 0) { show(missing); return; }
    if (!consent.checked) { fault(finish, "Tick that your votes may be used; without that nothing is taken."); return; }
    if (!answers.canSign()) { fault(finish, "Your votes are kept, but cannot be signed here: open the page from a file or over https."); return; }
    const made = await body();
    const text = await answers.signed(made);
    if (how === "save") {
      answers.save(`votes-${made.id.slice(0, 8)}.json`, text);
      told(element("b", { textContent: "Saved. Thank you!" }), `Send the file votes-${made.id.slice(0, 8)}.json to who gave you this page. Its number, should you want it deleted: ${made.id}`);
      return;
    }
    const button = document.getElementById("send");
    button.disabled = true;
    try {
      const said = await answers.send(about.served, text);
      const link = element("a", { href: said.deletion, textContent: said.deletion });
      told(element("b", { textContent: "Sent. Thank you!" }), ["Keep this link: it deletes your votes. ", link]);
      isSent = true;
      answers.forget(STORED);
      answers.close();
    } catch (error) {
      button.disabled = false;
      fault(finish, `Not sent: ${error.message}. You can save them as a file instead.`);
    }
  }
  document.getElementById("save").addEventListener("click", () => hand("save"));
  document.getElementById("send")?.addEventListener("click", () => hand("send"));
  document.getElementById("erase").addEventListener("click", () => {
    answers.forget(STORED);
    answers.forget("benchflow-rater-key");
    isSent = true;
    location.reload();
  });
  show(Math.min(draft.at, draft.order.length), false);
  if (!answers.isLasting()) document.getElementById("kept").textContent = "This browser keeps nothing: leave the page open until you are done.";
  document.body.dataset.ready = "";
})();
