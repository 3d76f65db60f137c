// The page as a whole: which views there are, and which of them is shown.
import { get } from "./api.js";
import { startMusic } from "./music.js";
import { startSeries } from "./series.js";
import { startText } from "./text.js";

const VIEWS = { text: startText, music: startMusic, series: startSeries };
const NEEDS_NO_MODEL = "series"; // it is trained on what is to be filled

async function start() {
  const status = document.getElementById("page-status");
  let models;
  try {
    models = await get("/api/models");
  } catch (problem) {
    status.textContent = problem.message;
    status.classList.add("problem");
    return;
  }
  const offered = new Set([NEEDS_NO_MODEL, ...models.map((model) => model.kind)]);
  const views = Object.keys(VIEWS).filter((kind) => offered.has(kind));
  for (const link of document.querySelectorAll("nav a")) {
    link.hidden = !views.includes(link.hash.slice(1));
  }
  const shown = {};
  const show = () => {
    if (location.hash === "#main") return; // the link that skips the navigation
    const kind = views.includes(location.hash.slice(1)) ? location.hash.slice(1) : views[0];
    for (const view of views) document.getElementById(`view-${view}`).hidden = view !== kind;
    for (const link of document.querySelectorAll("nav a")) {
      if (link.hash === `#${kind}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    shown[kind] ??= VIEWS[kind](models.filter((model) => model.kind === kind));
    for (const view of Object.keys(shown)) shown[view].visible?.(view === kind);
  };
  addEventListener("hashchange", show);
  show();
}

start();
