// Only on pages that `benchflow serve` gives out: reloads when a trial began or ended; what is under
// way is replaced by itself, so that nothing else on the page is disturbed.
"use strict";

(() => {
  const news = new EventSource("/-/news");
  let version = "";
  news.addEventListener("version", (event) => {
    if (version && event.data !== version) {
      sessionStorage.setItem("benchflow-scroll", JSON.stringify([location.pathname, scrollY]));
      location.reload();
    }
    version = event.data;
  });
  news.addEventListener("progress", async () => {
    const here = document.getElementById("under-way");
    if (!here) return;
    const answer = await fetch(location.pathname, { cache: "no-store" });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("under-way");
    if (fresh) here.replaceWith(document.adoptNode(fresh));
  });

  function duration(seconds) {
    const whole = Math.max(0, Math.round(seconds));
    const two = (number) => String(number).padStart(2, "0");
    if (whole < 60) return `${whole} s`;
    const minutes = Math.floor(whole / 60);
    return minutes < 60 ? `${minutes} min ${two(whole % 60)} s` : `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
  }
  setInterval(() => {
    for (const shown of document.querySelectorAll("[data-since]")) {
      shown.textContent = duration(Date.now() / 1000 - Number(shown.dataset.since));
    }
  }, 1000);

  const [path, top] = JSON.parse(sessionStorage.getItem("benchflow-scroll") ?? "[]");
  sessionStorage.removeItem("benchflow-scroll");
  if (path === location.pathname) scrollTo({ top, behavior: "instant" });
})();
