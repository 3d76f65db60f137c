// The text view: erase characters, fill the gaps, and choose among the readings of each.
import { askLines } from "./api.js";
import { bar, element, options, percent, relabel, roughly, visible } from "./elements.js";
import { escaped, marked, runs } from "./gaps.js";
import { History } from "./history.js";
import { drawLengths } from "./lengths.js";
import { endOf, improve } from "./search.js";
import { load, save } from "./store.js";
import { Work } from "./work.js";

// What stands in brackets is erased to begin with.
const EXAMPLE =
  "The Battle of Hast[ings] was fought in 1066 between the Nor[mans] and the English.";
const CHAIN_DRAWS = 4;
const SHOWN = 8; // readings
const JOINT = 5; // fills of all gaps together
const GUESS = 0.1; // of the probability: an answer that has less is little more than a guess
const $ = (id) => document.getElementById(id);

export function startText(models, show) {
  const sheet = $("sheet");
  const editor = $("text-editor");
  const work = new Work($("text-fill"), $("text-status"));
  // `characters` as they were before some were erased, which are never sent; `chosen` and `found`
  // have the reading that was chosen and all that were found, by the first place of the gap.
  let page = load("text");
  if (!page?.found) page = { ...example(), model: models[0].name, strategy: null, seed: 0, found: {} };
  let place = null; // the first place of the gap that is looked at
  let shownAll = false;
  const history = new History($("text-undo"), (before) => {
    work.stop();
    editor.hidden = true; // what is typed there is not a part of the page yet
    showEditor();
    page = before;
    place = null;
    $("text-model").value = model().name;
    offerStrategies();
    draw();
    remember();
    work.say("The last change is undone.");
  });
  const kept = () => ({
    ...page,
    missing: [...page.missing],
    chosen: { ...page.chosen },
    found: { ...page.found },
  });

  const model = () => models.find((m) => m.name === page.model) ?? models[0];
  const strategy = () => page.strategy ?? model().strategy;
  const gapChar = () => model().fields.gap_char;
  const gaps = () => runs(page.missing);
  const isOpen = ([first]) => page.chosen[first] === undefined;

  function example() {
    const parts = EXAMPLE.split(/[[\]]/); // observed and erased ones in turn
    return {
      characters: parts.flatMap((part) => [...part]),
      missing: parts.flatMap((part, n) => [...part].map(() => n % 2 === 1)),
      chosen: {},
      joint: null,
    };
  }

  function remember() {
    const { found, joint, ...rest } = page;
    save("text", [{ ...rest, found: {} }, { found, joint }]);
  }

  function forget() {
    work.stop();
    page.found = {};
    page.joint = null;
  }

  // Chosen readings are sent as if they were observed.
  function question() {
    const { fields, name } = model();
    const marks = marked(page.characters, fields);
    const sent = page.characters.map((c, i) => (page.missing[i] && !marks[i] ? gapChar() : c));
    for (const [first, stop] of gaps()) {
      if (isOpen([first])) continue;
      sent.fill("", first, stop);
      sent[first] = escaped(page.chosen[first], fields);
    }
    const { strategy, seed } = page;
    return { model: name, sequence: sent.join(""), strategy, seed };
  }

  // The answer that it replaces is kept, unless what it was an answer to has been.
  function fill({ replaces = true } = {}) {
    closeEditor();
    if (!page.missing.some(Boolean)) {
      work.say("Nothing is erased yet: drag over some characters first.");
      return;
    }
    if (!gaps().some(isOpen)) {
      work.stop();
      work.say("You have chosen what stands in every gap: nothing is left to fill.");
      return;
    }
    const asked = question();
    let before = replaces && page.joint ? kept() : null;
    const took = (fill) => {
      if (before) history.keep(before);
      before = null;
      take(fill);
    };
    work.run(async (signal) => {
      let answer;
      if (strategy() === "gsn") {
        const chain = askLines("/api/fill/chain", { ...asked, draws: CHAIN_DRAWS }, signal);
        for await (const { steps, fill } of chain) {
          work.say(`The chain settles: ${steps} of 100 steps are done.`, "working");
          took((answer = fill));
        }
      } else {
        answer = await improve(asked, signal, work, took);
      }
      return told(answer);
    });
  }

  function take({ best, gaps: answers, places, confidence, ...joint }) {
    const characters = [...best];
    const sure = new Map(places.map(([step], n) => [step, confidence[n]]));
    gaps().filter(isOpen).forEach(([first], n) => {
      const { start, stop, ...gap } = answers[n];
      const steps = Array.from({ length: stop - start }, (_, k) => start + k);
      // Beside another gap, the reading of the best fill need not be the likeliest by itself.
      const part = characters.slice(start, stop).join("");
      const probability = gap.candidates.find((one) => one.part === part)?.probability ?? 0;
      page.found[first] = { ...gap, part, probability, shades: steps.map((step) => sure.get(step)) };
    });
    const { candidates, log_prob, standard_error, covered, strategy, seed, ended } = joint;
    page.joint = { candidates, log_prob, standard_error, covered, strategy, seed, ended };
    draw();
    remember();
  }

  function told(answer) {
    const answers = gaps().filter(isOpen).map(([first]) => page.found[first]);
    const readings = answers.map(({ part, probability }) => `“${part}” ${roughly(probability)}`);
    const guesses = answers.filter(({ covered }) => covered < GUESS).length;
    const guess =
      guesses === 0
        ? ""
        : answers.length === 1
          ? "This is little more than a guess."
          : guesses === 1
            ? "One gap is little more than a guess."
            : `${guesses} gaps are little more than guesses.`;
    const what = readings.length <= 3 ? readings.join(", ") : `${readings.length} gaps`;
    return ["Filled:", `${what}.`, guess, endOf(answer)].filter(Boolean).join(" ");
  }

  function choose(first, part) {
    if (part.includes(gapChar())) {
      work.stop();
      work.say(`“${gapChar()}” marks what is missing, so it cannot be put in.`, "problem");
      return;
    }
    history.keep(kept());
    page.chosen[first] = part;
    fill({ replaces: false });
    draw();
    remember();
    gapAt(first)?.focus();
  }

  function unchoose(first) {
    history.keep(kept());
    delete page.chosen[first];
    fill({ replaces: false });
    draw();
    remember();
    gapAt(first)?.focus();
  }

  function erase(first, last) {
    history.keep(kept());
    page.missing.fill(true, first, last + 1);
    for (const [start, stop] of gaps()) {
      if (start <= last && stop >= first) delete page.chosen[start];
    }
    for (const start of Object.keys(page.chosen)) {
      if (page.missing[start - 1]) delete page.chosen[start]; // it is a part of a longer gap now
    }
    forget();
    place = null;
    draw();
    remember();
    const count = page.missing.filter(Boolean).length;
    work.say(`${count} ${count === 1 ? "character is" : "characters are"} erased.`);
  }

  const gapAt = (first) => sheet.querySelector(`[role=button][data-i="${first}"]`);

  function draw() {
    const focused = sheet.contains(document.activeElement);
    const parts = [];
    const all = gaps();
    const at = new Map(all.map(([first, stop], n) => [first, { first, stop, n }]));
    for (let i = 0; i < page.characters.length; i++) {
      if (at.has(i)) {
        parts.push(drawGap(at.get(i), all.length));
        i = at.get(i).stop - 1;
      } else {
        parts.push(element("span", { text: page.characters[i] }));
        parts.at(-1).dataset.i = i;
      }
    }
    sheet.replaceChildren(...parts);
    const entry = gapAt(place) ?? sheet.querySelector("[role=button]");
    if (entry) entry.tabIndex = 0; // one stop for Tab; the arrow keys go on from there
    if (focused) entry?.focus();
    $("text-legend").style.visibility = Object.keys(page.found).length ? "" : "hidden";
    $("text-again").disabled = strategy() === "search"; // to which the seed hardly matters
    drawCard();
    drawJoint();
  }

  // No <button>: lines would break inside a word, before and after it.
  function drawGap({ first, stop, n }, count) {
    const box = element("span", { role: "button", tabIndex: -1 });
    box.dataset.i = first;
    box.setAttribute("aria-expanded", first === place);
    box.setAttribute("aria-controls", "gap-card");
    const which = count > 1 ? `, gap ${n + 1} of ${count}` : "";
    const found = page.found[first];
    const chosen = page.chosen[first];
    if (chosen !== undefined) {
      box.className = "pinned";
      box.append(...[...chosen].map(letter));
      box.setAttribute("aria-label", `${chosen}, chosen by you${which}`);
    } else if (found) {
      const { part, probability } = found;
      box.className = "filled";
      box.dataset.told = roughly(probability);
      box.append(
        ...[...part].map((character, k) => {
          const span = letter(character);
          span.style.setProperty("--p", found.shades[k]);
          return span;
        }),
      );
      box.setAttribute("aria-label", `${part}, ${roughly(probability)}${which}`);
    } else {
      const marks = marked(page.characters, model().fields);
      box.className = "empty";
      box.textContent = page.characters
        .slice(first, stop)
        .map((c, k) => (marks[first + k] ? c : gapChar()))
        .join("");
      box.setAttribute("aria-label", `missing${which}`);
    }
    box.classList.toggle("selected", first === place);
    return box;
  }

  const letter = (c) => element("span", { text: c === "\n" ? "↵\n" : c });

  // What could stand in the gap that is looked at.
  function drawCard() {
    const all = gaps();
    const n = all.findIndex(([first]) => first === place);
    const found = n < 0 ? null : page.found[place];
    const chosen = n < 0 ? undefined : page.chosen[place];
    $("gap-title").textContent = n >= 0 && all.length > 1 ? `Gap ${n + 1} of ${all.length}` : "One gap";
    $("gap-unchoose").hidden = chosen === undefined;
    $("gap-form").hidden = n < 0;
    const known = found?.candidates ?? [];
    const shown = shownAll ? known : known.slice(0, SHOWN);
    $("gap-more").hidden = shown.length === known.length;
    $("gap-more").textContent = `All ${known.length} readings`;
    $("gap-hint").textContent = found
      ? found.covered < GUESS
        ? `Little more than a guess: all ${known.length} readings have ${percent(found.covered)} together.`
        : `What could stand here. ${known.length} readings have ${percent(found.covered)} together.`
      : n < 0
        ? "Click on a gap to see what could stand in it."
        : "Fill the text to see what could stand here.";
    $("gap-list").replaceChildren(
      ...shown.map(({ part, probability }) =>
        bar([...part].map(visible).join(""), percent(probability), probability, {
          pressed: part === (chosen ?? found.part),
          choose: () => choose(place, part),
        }),
      ),
    );
    drawLengths($("length-list"), found?.lengths ?? {}, "characters");
  }

  // The fills of all gaps together, for who wants to know.
  function drawJoint() {
    const joint = page.joint;
    $("joint-card").hidden = !joint;
    if (!joint) return;
    const error = joint.standard_error ? ` ± ${joint.standard_error.toPrecision(2)}` : "";
    $("joint-hint").textContent =
      `The most probable fills of all gaps together, in nats, by the strategy ${joint.strategy}. ` +
      `The best has ${nats(joint.log_prob)}${error}; the ${joint.candidates.length} that were found ` +
      `have ${percent(joint.covered)} of the probability.`;
    $("joint-list").replaceChildren(
      ...joint.candidates.slice(0, JOINT).map(({ sequence, log_prob: logProb }) =>
        element("li", {}, element("span", { text: sequence }), element("span", { text: nats(logProb) })),
      ),
    );
  }

  function look(first) {
    if (first !== place) shownAll = false;
    place = first;
    for (const box of sheet.querySelectorAll("[role=button]")) {
      const here = Number(box.dataset.i) === first;
      box.classList.toggle("selected", here);
      box.setAttribute("aria-expanded", here);
      box.tabIndex = here ? 0 : -1;
    }
    drawCard();
  }

  function open(first) {
    look(first);
    $("gap-card").scrollIntoView({ block: "nearest" });
  }

  // Dragging over characters.
  let drag = null;
  const indexAt = (event) => {
    const hit = document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-i]");
    return hit && sheet.contains(hit) ? Number(hit.dataset.i) : null;
  };
  const range = () => [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)];
  const showDrag = () => {
    const [first, last] = drag && drag.from !== drag.to ? range() : [0, -1];
    for (const part of sheet.querySelectorAll("[data-i]")) {
      const i = Number(part.dataset.i);
      part.classList.toggle("touched", i >= first && i <= last);
    }
  };
  sheet.addEventListener("pointerdown", (event) => {
    const index = indexAt(event);
    if (index === null || event.button !== 0) return;
    drag = { from: index, to: index };
    if (!page.missing[index]) event.preventDefault();
  });
  sheet.addEventListener("pointermove", (event) => {
    if (!drag) return;
    drag.to = indexAt(event) ?? drag.to;
    showDrag();
  });
  addEventListener("pointerup", () => {
    if (!drag) return;
    const [first, last] = range();
    const clicked = first === last;
    drag = null;
    showDrag();
    if (clicked && page.missing[first]) {
      open(first);
      gapAt(first)?.focus({ preventScroll: true });
    } else {
      erase(first, last);
    }
  });
  addEventListener("pointercancel", () => {
    drag = null;
    showDrag();
  });

  sheet.addEventListener("keydown", (event) => {
    const first = Number(event.target.dataset.i);
    if (Number.isNaN(first) || event.ctrlKey || event.metaKey || event.altKey) return;
    const firsts = gaps().map(([start]) => start);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) {
      look(firsts[(firsts.indexOf(first) + step + firsts.length) % firsts.length]);
      gapAt(place)?.focus();
    } else if (event.key === "Enter" || event.key === " ") {
      open(first);
      ($("gap-list").querySelector("button") ?? $("gap-reading")).focus();
    } else if (event.key === "Backspace" || event.key === "Delete") {
      if (page.chosen[first] !== undefined) unchoose(first);
    } else {
      return;
    }
    event.preventDefault();
  });
  $("gap-card").addEventListener("keydown", (event) => {
    if (event.key === "Escape") gapAt(place)?.focus();
  });

  function openEditor() {
    editor.value = question().sequence;
    editor.hidden = false;
    showEditor();
    editor.focus();
  }

  function showEditor() {
    sheet.hidden = !editor.hidden;
    $("text-edit").setAttribute("aria-pressed", !editor.hidden);
    relabel($("text-edit"), ["Edit text", "Done"], editor.hidden ? "Edit text" : "Done");
  }

  function closeEditor() {
    if (editor.hidden) return;
    editor.hidden = true;
    showEditor();
    if (editor.value === question().sequence) return;
    history.keep(kept());
    page.characters = [...editor.value];
    page.missing = marked(page.characters, model().fields);
    page.chosen = {};
    place = null;
    forget();
    work.say("");
    draw();
    remember();
  }

  function reset(changes) {
    closeEditor();
    history.keep(kept());
    forget();
    Object.assign(page, changes);
    place = null;
    work.say("");
    draw();
    remember();
  }

  $("text-fill").addEventListener("click", () => (work.running ? work.stop() : fill()));
  $("text-again").addEventListener("click", () => {
    page.seed = (page.seed + 1) % 2 ** 32;
    fill();
  });
  $("text-edit").addEventListener("click", () => (editor.hidden ? openEditor() : closeEditor()));
  // Erased characters come back; those that were typed as missing stay missing.
  $("text-back").addEventListener("click", () =>
    reset({ missing: marked(page.characters, model().fields), chosen: {} }),
  );
  $("text-example").addEventListener("click", () => reset({ ...example(), seed: 0 }));
  // The same text, read with the signs of editors.
  $("text-leiden").addEventListener("click", () => {
    closeEditor();
    show("edition", { text: question().sequence, model: page.model });
  });
  $("gap-unchoose").addEventListener("click", () => unchoose(place));
  $("gap-more").addEventListener("click", () => {
    shownAll = true;
    drawCard();
    $("gap-list").querySelectorAll("button")[SHOWN]?.focus();
  });
  $("gap-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const part = $("gap-reading").value;
    if (!part) return;
    $("gap-reading").value = "";
    choose(place, part);
  });
  const offerStrategies = () => {
    options($("text-strategy"), model().strategies, strategy());
  };
  options($("text-model"), models.map((m) => m.name), page.model);
  offerStrategies();
  $("text-model").addEventListener("change", (event) => {
    reset({ model: event.target.value, strategy: null });
    offerStrategies();
  });
  $("text-strategy").addEventListener("change", (event) => {
    page.strategy = event.target.value;
    if (page.joint) fill();
    draw();
    remember();
  });
  showEditor();
  draw();
  return {};
}

const nats = (number) => (number === null ? "−∞" : number.toFixed(2).replace("-", "−"));
