// The page as a whole: which views there are, and which of them is shown.
import { get } from "./api.js";
import { startEdition } from "./edition.js";
import { startMusic } from "./music.js";
import { startSeries } from "./series.js";
import { startText } from "./text.js";

const VIEWS = { text: startText, edition: startEdition, music: startMusic, series: startSeries };
const NEEDS_NO_MODEL = "series"; // it is trained on what is to be filled

// Whether a model of texts sees something else than what is written.
const isEdited = ({ fields }) => fields.notation !== "plain" || fields.normalise !== "";

// The models that a view can use, the most suitable first.
function modelsFor(view, models) {
  const ofKind = models.filter(({ kind }) => kind === (view === "edition" ? "text" : view));
  if (view === "text") return ofKind.filter((model) => !isEdited(model));
  return view === "edition" ? ofKind.sort((a, b) => isEdited(b) - isEdited(a)) : ofKind;
}

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
  const views = Object.keys(VIEWS).filter(
    (view) => view === NEEDS_NO_MODEL || modelsFor(view, models).length,
  );
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
    shown[kind] ??= VIEWS[kind](modelsFor(kind, models), hand);
    for (const view of Object.keys(shown)) shown[view].visible?.(view === kind);
  };
  // From one view to another, with something to open there.
  const hand = (view, content) => {
    history.pushState(null, "", `#${view}`);
    show();
    shown[view].open(content);
  };
  addEventListener("hashchange", show);
  show();
}

start();
