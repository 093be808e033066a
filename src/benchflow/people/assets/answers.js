// What all pages of questions share: a key, a signature, a draft kept in the browser, a file.
"use strict";
const answers = (() => {
  const KEY = "benchflow-rater-key";
  const ALGORITHMS = {
    "Ed25519": { make: { name: "Ed25519" }, sign: { name: "Ed25519" } },
    "ECDSA-P256-SHA256": {
      make: { name: "ECDSA", namedCurve: "P-256" },
      sign: { name: "ECDSA", hash: "SHA-256" },
    },
  };

  // Where the browser keeps nothing (a private window, a full disk), the page works all the same.
  const memory = {};
  let lasting = true;
  function keep(name, value) {
    memory[name] = value;
    try { localStorage.setItem(name, JSON.stringify(value)); } catch { lasting = false; }
  }
  function kept(name) {
    try {
      const text = localStorage.getItem(name);
      if (text !== null) return JSON.parse(text);
    } catch { lasting = false; }
    return memory[name] ?? null;
  }
  function forget(name) {
    delete memory[name];
    try { localStorage.removeItem(name); } catch { lasting = false; }
  }

  const base64 = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)));
  const hex = (buffer) =>
    [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const random = () => hex(crypto.getRandomValues(new Uint8Array(16)));
  const sha256 = async (data) => hex(await crypto.subtle.digest("SHA-256", data));
  const hashOf = (code) => sha256(new TextEncoder().encode(code));
  const canSign = () => Boolean(globalThis.crypto && crypto.subtle);

  // Keys sorted, no white space: one text for one value.
  function canonical(value) {
    if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
    if (value === null || typeof value !== "object") return JSON.stringify(value);
    const parts = Object.keys(value).sort()
      .map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`);
    return `{${parts.join(",")}}`;
  }

  async function imported(saved) {
    const how = ALGORITHMS[saved.algorithm].make;
    return {
      algorithm: saved.algorithm,
      spki: saved.spki,
      privateKey: await crypto.subtle.importKey("jwk", saved.jwk, how, false, ["sign"]),
    };
  }
  async function made(algorithm) {
    const how = ALGORITHMS[algorithm].make;
    const pair = await crypto.subtle.generateKey(how, true, ["sign", "verify"]);
    const saved = {
      algorithm,
      spki: base64(await crypto.subtle.exportKey("spki", pair.publicKey)),
      jwk: await crypto.subtle.exportKey("jwk", pair.privateKey),
    };
    keep(KEY, saved);
    return imported(saved);
  }
  async function key() {
    const saved = kept(KEY);
    if (saved) try { return await imported(saved); } catch { forget(KEY); }
    try { return await made("Ed25519"); } catch { return made("ECDSA-P256-SHA256"); }
  }

  async function fingerprint(pair) {
    const bytes = Uint8Array.from(atob(pair.spki), (c) => c.charCodeAt(0));
    return (await sha256(bytes)).slice(0, 32);
  }

  // The envelope of `body`, as text; `body` gets the name of the key that signs it.
  async function signed(body) {
    const pair = await key();
    const text = canonical({ ...body, key: await fingerprint(pair) });
    const data = new TextEncoder().encode(text);
    const signature = await crypto.subtle.sign(ALGORITHMS[pair.algorithm].sign, pair.privateKey, data);
    return JSON.stringify({
      format: "benchflow-answers/1", algorithm: pair.algorithm, key: pair.spki,
      signature: base64(signature), body: text,
    });
  }

  function save(name, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = name;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  // Sends to the page's own server; gives {deletion} or throws with what it said.
  async function send(served, text) {
    let response;
    try {
      response = await fetch(served.post, {
        method: "POST", body: text, credentials: "same-origin",
        headers: { "content-type": "application/json", "x-benchflow-csrf": served.csrf },
      });
    } catch {
      throw new Error("the server could not be reached; your answers are still here");
    }
    const said = await response.json().catch(() => ({}));
    if (!response.ok) throw new Error(said.refused || `the server said ${response.status}`);
    return said;
  }

  // When all is sent: nothing is left to do or to keep.
  function close() {
    document.getElementById("save").disabled = true;
    document.getElementById("kept").textContent = "What you typed was sent, and is no longer kept in this browser.";
  }

  // The one-time code of a page that was opened from a file: …rate.html#link=CODE
  async function linkHash(served) {
    if (served) return served.link;
    const code = new URLSearchParams(location.hash.slice(1)).get("link");
    return code ? hashOf(code) : "";
  }

  const now = () => new Date().toISOString().slice(0, 19) + "Z";
  const about = () => JSON.parse(document.getElementById("about").textContent);
  return {
    about, canSign, close, forget, keep, kept, linkHash, now, random, save, send, signed,
    isLasting: () => lasting,
  };
})();
