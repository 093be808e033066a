// Only on pages that `benchflow serve` gives out: reloads when the jobs' files have changed.
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
  const [path, top] = JSON.parse(sessionStorage.getItem("benchflow-scroll") ?? "[]");
  sessionStorage.removeItem("benchflow-scroll");
  if (path === location.pathname) scrollTo({ top, behavior: "instant" });
})();
