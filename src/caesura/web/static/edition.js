// The view for damaged texts: fill lacunae, accept readings, ask about one's own, and export.
import { ask } from "./api.js";
import { options, percent, relabel, roughly } from "./elements.js";
import { exportJson, exportText } from "./export.js";
import { onFile } from "./files.js";
import { LacunaCard } from "./lacuna.js";
import { Leaf } from "./leaf.js";
import { endOf, improve } from "./search.js";
import { load, save } from "./store.js";
import { Work } from "./work.js";

const GREEK = "Διονύσιος Ζή(νωνι) χα[ίρειν]. εἰ ἔρρωσαι καὶ τὰ ἄλλ[.]\nσοι κατὰ λόγον [c.5], εἴη ἂν ὡς ἐγὼ\nθέλω. κα[...]ς δ᾽ ἂν [---] γράψας μοι.";
const LATIN = "In the na[..] of the Lord, am[c.3]. I, Thom(as) of [---],\nhave given to the ch[....] of Saint Mary\nall the la[n]d that I ho[..]";
const EXAMPLE_NAME = "example";
const MOST_PAST = 30; // changes that can be undone
const $ = (id) => document.getElementById(id);

export function startEdition(models) {
  const editor = $("edition-editor");
  const work = new Work($("edition-fill"), $("edition-status"));
  // By the numbers of lacunae: `accepted` readings, `patterns`, readings of one's `own` to be
  // weighed, and what was `found`. `view` is the text as the server has read it. `past` has what the
  // user had asked for before each change.
  let page = load("edition");
  let chosen = null;
  const leaf = new Leaf($("leaf"), { look, open: openCard, free });
  const card = new LacunaCard({ accept, free, weigh, constrain, back: () => leaf.box(chosen)?.focus() });

  const model = () => models.find((m) => m.name === page.model) ?? models[0];
  const strategy = () => page.strategy ?? usual();
  // Gaps of unknown length need a search.
  const usual = () => (model().strategies.includes("search") ? "search" : model().strategy);
  const gaps = () => page.view?.gaps ?? [];
  const isOpen = (number) => page.accepted[number] === undefined;
  const fresh = () => ({ accepted: {}, patterns: {}, own: {}, found: {}, answer: null });

  function example() {
    return { text: model().fields.alphabet.includes("α") ? GREEK : LATIN, name: EXAMPLE_NAME };
  }

  function source() {
    const { name, fields } = model();
    const notation = fields.notation === "plain" ? "leiden" : fields.notation;
    return { model: name, sequence: page.text, notation, lost: page.lost };
  }

  function remember() {
    const { view, found, answer, past, ...rest } = page;
    const first = { ...rest, view: null, found: {}, answer: null, past: [] };
    save("edition", [first, { view }, { found, answer }, { past }]);
  }

  function wanted() {
    const { text, name, lost, model, strategy, accepted, patterns, own } = page;
    const filled = Boolean(page.answer || work.running);
    return { text, name, lost, model, strategy, accepted, patterns, own, filled };
  }

  function keep() {
    page.past = [...page.past, wanted()].slice(-MOST_PAST);
  }

  // Read a text anew, by some other text, model or rule; the server's sentence says what is wrong.
  async function read(changes) {
    work.stop();
    if (page.view) keep();
    await readAs({ ...fresh(), ...changes });
  }

  async function readAs(changes) {
    Object.assign(page, changes, { view: null });
    chosen = null;
    const text = page.text;
    let problem = "";
    try {
      const view = await ask("/api/view", source());
      if (page.text !== text) return;
      page.view = view;
    } catch (failure) {
      problem = failure.message;
    }
    work.say(page.view && !gaps().length ? "The text has no lacuna: mark one as [...] or [---]." : "");
    say(problem);
    if (problem) openEditor(problem);
    else closeEditor();
    draw();
    remember();
  }

  // The text must be read again after this.
  function useModel(name, strategy = null) {
    if (page.view) keep();
    Object.assign(page, { model: name, strategy, view: null });
    $("edition-model").value = model().name;
    offerStrategies();
  }

  // A problem of the text stands next to it.
  function say(problem) {
    $("edition-problem").textContent = problem;
    $("edition-problem").hidden = !problem;
    editor.setAttribute("aria-invalid", Boolean(problem));
  }

  function question() {
    const listed = (byNumber, name) =>
      Object.entries(byNumber)
        .filter(([number]) => isOpen(number))
        .flatMap(([number, values]) => [values].flat().map((one) => ({ gap: Number(number), [name]: one })));
    return {
      ...source(),
      strategy: strategy(),
      seed: page.seed,
      accepted: Object.entries(page.accepted).map(([number, part]) => ({ gap: Number(number), part })),
      patterns: listed(page.patterns, "pattern"),
      readings: listed(page.own, "part"),
    };
  }

  // If it fails, `undo` takes back what was asked for.
  function fill(undo = () => {}) {
    if (!page.view) return;
    if (!gaps().length || !gaps().some((_, number) => isOpen(number))) {
      work.stop();
      work.say(gaps().length ? "Every lacuna has a reading that you accepted." : "The text has no lacuna.");
      return;
    }
    const asked = question();
    work.run(async (signal) => {
      try {
        return told(await improve(asked, signal, work, take));
      } catch (problem) {
        if (problem.name !== "AbortError") undo();
        draw();
        remember();
        throw problem;
      }
    });
  }

  function take(answer) {
    const sure = new Map(answer.places.map(([step], n) => [step, answer.confidence[n]]));
    page.found = {};
    answer.lacunae.forEach(({ number, part }, n) => {
      const { start, stop, ...gap } = answer.gaps[n];
      const shades = Array.from({ length: stop - start }, (_, k) => sure.get(start + k));
      const probability = gap.candidates.find((one) => one.part === part)?.probability ?? 0;
      page.found[number] = { ...gap, part, probability, shades };
    });
    page.answer = answer;
    draw();
    remember();
  }

  function told(answer) {
    const readings = answer.lacunae.map(({ number }) => page.found[number]);
    const what =
      readings.length > 3
        ? `${readings.length} lacunae`
        : readings.map(({ part, probability }) => `“${part.trim()}” ${roughly(probability)}`).join(", ");
    const asked = (page.found[chosen]?.asked ?? []).map(
      ({ part, probability, rank }) => `Yours: “${part}” ${percent(probability)}, rank ${rank}.`,
    );
    return ["Filled:", `${what}.`, ...asked.slice(-1), endOf(answer)].filter(Boolean).join(" ");
  }

  // What is accepted can be taken back, one change after the other.
  function change(accepted) {
    keep();
    page.accepted = accepted;
    changed();
  }

  function changed() {
    page.answer = null;
    for (const number of Object.keys(page.accepted)) delete page.found[number];
    fill();
    draw();
    remember();
    leaf.box(chosen)?.focus({ preventScroll: true });
  }

  function accept(part) {
    change({ ...page.accepted, [chosen]: part });
  }

  function free(number = chosen) {
    if (isOpen(number)) return;
    const { [number]: _, ...rest } = page.accepted;
    change(rest);
  }

  async function undo() {
    const before = page.past.at(-1);
    if (!before) return;
    work.stop();
    page.past = page.past.slice(0, -1);
    closeEditor(); // what is typed there has not been read yet
    const { filled, ...asked } = before;
    const same = ["text", "model", "lost"].every((name) => `${page[name]}` === `${asked[name]}`);
    if (same && page.view) {
      Object.assign(page, asked);
    } else {
      page.view = null;
      useModel(asked.model, asked.strategy);
      await readAs({ ...fresh(), ...asked });
    }
    if (!filled) Object.assign(page, { found: {}, answer: null });
    draw();
    remember();
    if (filled) changed();
    else work.say("The last change is undone.");
  }

  function weigh(part) {
    const before = page.own;
    const others = (before[chosen] ?? []).filter((one) => one !== part);
    page.own = { ...before, [chosen]: [...others, part] };
    fill(() => (page.own = before));
  }

  function constrain(pattern) {
    const before = page.patterns;
    keep();
    const { [chosen]: _, ...rest } = before;
    page.patterns = pattern ? { ...rest, [chosen]: pattern } : rest;
    fill(() => Object.assign(page, { patterns: before, past: page.past.slice(0, -1) }));
  }

  function draw() {
    const view = page.view ?? { pieces: [], gaps: [] };
    leaf.draw(view, page.accepted, page.found, chosen);
    drawCard();
    $("edition-legend").style.visibility = Object.keys(page.found).length ? "" : "hidden";
    $("edition-undo").disabled = !page.past.length;
    $("lost-restored").checked = page.lost.includes("restored");
    $("lost-doubtful").checked = page.lost.includes("doubtful");
    const filled = Object.keys(page.found).length + Object.keys(page.accepted).length > 0;
    const isXml = view.format === "epidoc";
    for (const format of ["leiden", "plain"]) $(`export-${format}`).disabled = !filled;
    $("export-json").disabled = !page.answer;
    $("export-epidoc").disabled = !filled || !isXml;
    $("export-others").hidden = !isXml;
    $("export-hint").textContent = filled
      ? isXml ? "" : "EpiDoc can be written if the text was opened as EpiDoc."
      : "Fill the text first.";
  }

  function drawCard() {
    const number = chosen !== null && gaps()[chosen] ? chosen : null;
    card.draw({
      number,
      count: gaps().length,
      gap: gaps()[number],
      accepted: page.accepted[number],
      found: page.found[number],
      pattern: page.patterns[number] ?? "",
    });
  }

  function look(number) {
    chosen = number;
    leaf.choose(number);
    drawCard();
  }

  function openCard(number, byKeys = false) {
    look(number);
    $("lacuna-card").scrollIntoView({ block: "nearest" });
    if (byKeys) card.focus();
    else leaf.box(number)?.focus({ preventScroll: true });
  }

  function openEditor(problem = "") {
    if (editor.hidden) editor.value = page.text;
    editor.hidden = false;
    showEditor();
    editor.focus();
    const [, line, column] = problem.match(/line (\d+), column (\d+)/) ?? [];
    if (!line) return;
    const lines = editor.value.split(/\r\n|\r|\n/).slice(0, Number(line));
    const last = [...lines.pop()].slice(0, Number(column) - 1).join("");
    const place = lines.reduce((sum, one) => sum + one.length + 1, last.length);
    editor.setSelectionRange(place, place + 1);
  }

  function closeEditor() {
    editor.hidden = true;
    showEditor();
  }

  function showEditor() {
    $("leaf").hidden = !editor.hidden;
    $("edition-edit").setAttribute("aria-pressed", !editor.hidden);
    relabel($("edition-edit"), ["Edit text", "Done"], editor.hidden ? "Edit text" : "Done");
  }

  // The text that was typed is read; what was accepted is lost only if it has changed.
  async function edited() {
    if (editor.hidden) return;
    if (editor.value === page.text && page.view) closeEditor();
    else await read({ text: editor.value, name: page.name === EXAMPLE_NAME ? "text" : page.name });
  }

  async function openFile(file) {
    editor.hidden = true; // so that a problem shows the text of the file
    await read({ text: await file.text(), name: file.name.replace(/\.(txt|xml)$/i, "") });
  }

  async function exported(format) {
    const readings = gaps()
      .map((_, number) => ({ ...page.found[number], number, part: page.accepted[number] ?? page.found[number]?.part }))
      .map((one) => ({ ...one, candidates: one.candidates ?? [] }));
    try {
      if (format === "json") exportJson(page.name, source(), question().accepted, page.answer);
      else await exportText(format, page.name, source(), readings, format === "epidoc" && $("others").checked);
    } catch (problem) {
      work.say(problem.message, "problem");
    }
  }

  $("edition-fill").addEventListener("click", async () => {
    if (work.running) return work.stop();
    await edited();
    fill();
  });
  $("edition-edit").addEventListener("click", () => (editor.hidden ? openEditor() : edited()));
  $("edition-example").addEventListener("click", () => {
    editor.hidden = true;
    read(example());
  });
  $("edition-undo").addEventListener("click", undo);
  for (const format of ["leiden", "epidoc", "plain", "json"]) {
    $(`export-${format}`).addEventListener("click", () => exported(format));
  }
  for (const state of ["restored", "doubtful"]) {
    $(`lost-${state}`).addEventListener("change", () => {
      const text = editor.hidden ? page.text : editor.value;
      read({ text, lost: ["restored", "doubtful"].filter((one) => $(`lost-${one}`).checked) });
    });
  }
  onFile(
    { view: $("view-edition"), card: $("edition-card"), button: $("edition-open"), input: $("edition-file") },
    openFile,
  );
  $("edition-model").addEventListener("change", (event) => {
    useModel(event.target.value);
    read(page.name === EXAMPLE_NAME ? example() : {});
  });
  $("edition-strategy").addEventListener("change", (event) => {
    page.strategy = event.target.value;
    if (page.answer) fill();
    remember();
  });
  const offerStrategies = () => options($("edition-strategy"), model().strategies, strategy());

  if (!page?.past) {
    page = { model: models[0].name, strategy: null, seed: 0, lost: [], view: null, past: [], ...fresh() };
    Object.assign(page, example());
  }
  page.past = page.past.filter(({ text }) => text !== undefined); // as older versions kept it
  options($("edition-model"), models.map((m) => m.name), page.model);
  offerStrategies();
  if (page.view) draw();
  else read({});
  return {
    open: ({ text, model: name }) => {
      editor.hidden = true;
      useModel(name);
      read({ text, name: "text" });
    },
  };
}
