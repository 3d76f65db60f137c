// The text view: erase characters, fill them, and choose among the candidates.
import { ask, askLines } from "./api.js";
import { bar, element, options, percent, spoken, visible } from "./elements.js";
import { load, save } from "./store.js";
import { Work } from "./work.js";

// What stands in brackets is erased to begin with.
const EXAMPLE =
  "The Battle of Hast[ings] was fought in 1066 between the Nor[mans] and the English.";
const DRAWS = { gsn: 4, sir: 8 }; // these score by averages over many chains, which takes longer
const MANY_DRAWS = 32;
const SHOWN = 8; // readings
const $ = (id) => document.getElementById(id);

export function startText(models) {
  const sheet = $("sheet");
  const editor = $("text-editor");
  const work = new Work($("text-fill"), $("text-status"));
  // The erased characters are kept here, and never sent.
  let page = load("text") ?? { ...example(), model: models[0].name, strategy: null, seed: 0 };
  if (!page.answer?.candidates) page.answer = null; // an older version stored other answers
  page.likeliest ??= {};
  let place = null; // the one that is looked at

  const model = () => models.find((m) => m.name === page.model) ?? models[0];
  const gapChar = () => model().fields.gap_char;

  function example() {
    const parts = EXAMPLE.split(/[[\]]/); // observed and erased ones in turn
    return {
      characters: parts.flatMap((part) => [...part]),
      missing: parts.flatMap((part, n) => [...part].map(() => n % 2 === 1)),
      pinned: {},
    };
  }

  function remember() {
    const { answer, likeliest, ...rest } = page;
    save("text", [rest, { answer, likeliest }]);
  }

  function forget() {
    work.stop();
    page.answer = null;
    page.likeliest = {};
  }

  // Pinned characters are sent as if they were observed.
  function question() {
    const gap = gapChar();
    const characters = page.characters.map((c, i) => page.pinned[i] ?? (page.missing[i] ? gap : c));
    const { name } = model();
    const { strategy, seed } = page;
    return { model: name, sequence: characters.join(""), strategy, seed };
  }

  function fill() {
    closeEditor();
    if (!page.missing.some(Boolean)) {
      work.say("Nothing is erased yet: drag over some characters first.");
      return;
    }
    const asked = question();
    if (![...asked.sequence].includes(gapChar())) {
      work.say("You have chosen every erased character: nothing is left to fill.");
      return;
    }
    work.run(async (signal) => {
      const strategy = asked.strategy ?? model().strategy;
      const fills = { ...asked, draws: DRAWS[strategy] ?? MANY_DRAWS };
      if (strategy === "gsn") {
        for await (const { steps, fill } of askLines("/api/fill/chain", fills, signal)) {
          work.say(`The chain settles: ${steps} of 100 steps are done.`, "working");
          take(fill);
        }
      } else {
        take(await ask("/api/fill", fills, signal));
      }
      const { places, likeliest } = await ask("/api/marginals", asked, signal);
      page.likeliest = Object.fromEntries(places.map(([step], n) => [step, likeliest[n]]));
      draw();
      remember();
      const { words, probability } = readings()[0];
      return `Filled: ${words}, ${percent(probability)}.`;
    });
  }

  function take(answer) {
    page.answer = { ...answer, shown: answer.best };
    page.likeliest = {};
    draw();
    remember();
  }

  function pin(index, character) {
    page.pinned[index] = character;
    place = index;
    fill();
    draw();
    focusPlace();
  }

  function unpin(index) {
    delete page.pinned[index];
    fill();
    draw();
    focusPlace();
  }

  function erase(first, last) {
    for (let i = first; i <= last; i++) {
      page.missing[i] = true;
      delete page.pinned[i];
    }
    forget();
    place = null;
    draw();
    remember();
    const count = page.missing.filter(Boolean).length;
    work.say(`${count} ${count === 1 ? "character is" : "characters are"} erased.`);
  }

  // The candidates, most probable first.
  function readings() {
    return page.answer.candidates.map(({ sequence, log_prob: logProb }) => {
      const words = gaps().map(([a, b]) => [...sequence].slice(a, b).map(visibleWord).join(""));
      return { text: sequence, words: words.join(" … "), probability: Math.exp(logProb ?? -Infinity) };
    });
  }

  const placeAt = (index) => sheet.querySelector(`[role=button][data-i="${index}"]`);
  const visibleWord = (c) => (c === "\n" ? "↵" : c);

  function gaps() {
    const runs = [];
    page.missing.forEach((missing, i) => {
      if (!missing) return;
      if (i && page.missing[i - 1]) runs.at(-1)[1] = i + 1;
      else runs.push([i, i + 1]);
    });
    return runs;
  }

  // How sure the model is of what is shown at a place.
  function confidence(index, character) {
    const told = page.likeliest[index]?.find(([symbol]) => symbol === character);
    if (told) return told[1];
    const n = page.answer.places.findIndex(([step]) => step === index);
    return page.answer.shown === page.answer.best && n >= 0 ? page.answer.confidence[n] : 0.001;
  }

  function draw() {
    const shown = page.answer && [...page.answer.shown];
    const focused = sheet.contains(document.activeElement);
    const parts = [];
    page.characters.forEach((character, i) => {
      if (!page.missing[i]) {
        parts.push(element("span", { text: character }));
        parts.at(-1).dataset.i = i;
        return;
      }
      // No <button>: lines would break inside a word, before and after it.
      const button = element("span", { role: "button" });
      button.dataset.i = i;
      button.tabIndex = -1;
      if (page.pinned[i] !== undefined) {
        button.className = "pinned";
        button.textContent = visible(page.pinned[i]);
        button.setAttribute("aria-label", `${spoken(page.pinned[i])}, chosen by you`);
      } else if (shown) {
        const p = confidence(i, shown[i]);
        button.className = "filled";
        button.style.setProperty("--p", p);
        button.textContent = shown[i] === " " ? " " : visible(shown[i]);
        button.setAttribute("aria-label", `${spoken(shown[i])}, ${percent(p)} sure`);
      } else {
        button.className = "empty";
        button.textContent = "_";
        button.setAttribute("aria-label", "missing");
      }
      button.classList.toggle("selected", i === place);
      parts.push(button);
      if ((page.pinned[i] ?? shown?.[i]) === "\n") parts.push("\n");
    });
    sheet.replaceChildren(...parts);
    const entry = placeAt(place) ?? sheet.querySelector("[role=button]");
    if (entry) entry.tabIndex = 0; // one stop for Tab; the arrow keys go on from there
    if (focused) entry?.focus();
    $("text-legend").style.visibility = page.answer ? "" : "hidden";
    drawPlace();
    drawReadings();
  }

  function drawPlace() {
    const likeliest = place === null ? null : page.likeliest[place];
    $("place-unpin").hidden = place === null || page.pinned[place] === undefined;
    $("place-hint").hidden = Boolean(likeliest);
    $("place-hint").textContent =
      place !== null && page.pinned[place] !== undefined
        ? `You chose “${spoken(page.pinned[place])}” here.`
        : "Point at a filled character to see the alternatives.";
    $("place-list").replaceChildren(
      ...(likeliest ?? []).map(([symbol, p]) =>
        bar(spoken(symbol), percent(p), p, { choose: () => pin(place, symbol) }),
      ),
    );
  }

  function drawReadings() {
    const answer = page.answer;
    const rows = answer ? readings().slice(0, SHOWN) : [];
    const about = answer?.standard_error === 0 ? "" : "≈ ";
    $("readings-hint").textContent = answer
      ? `${answer.candidates.length} found, with ${about}${percent(answer.covered)} of the probability.`
      : "The most probable fills of all gaps together.";
    $("readings").replaceChildren(
      ...rows.map(({ text, words, probability }) =>
        bar(words, about + percent(probability), Math.min(probability, 1), {
          pressed: text === answer.shown,
          choose: () => {
            answer.shown = text;
            draw();
            remember();
          },
        }),
      ),
    );
  }

  function look(index) {
    place = index;
    for (const button of sheet.querySelectorAll("[role=button]")) {
      const here = Number(button.dataset.i) === index;
      button.classList.toggle("selected", here);
      button.tabIndex = here ? 0 : -1;
    }
    drawPlace();
  }

  function focusPlace() {
    placeAt(place)?.focus();
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
    if (!drag) {
      const index = indexAt(event);
      if (index !== null && page.missing[index] && index !== place) look(index);
      return;
    }
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
      look(first);
      focusPlace();
    } else {
      erase(first, last);
    }
  });
  addEventListener("pointercancel", () => {
    drag = null;
    showDrag();
  });

  sheet.addEventListener("focusin", (event) => {
    if (event.target.dataset.i) look(Number(event.target.dataset.i));
  });
  sheet.addEventListener("keydown", (event) => {
    const index = Number(event.target.dataset.i);
    if (Number.isNaN(index) || event.ctrlKey || event.metaKey || event.altKey) return;
    const places = page.missing.flatMap((missing, i) => (missing ? [i] : []));
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) {
      look(places[(places.indexOf(index) + step + places.length) % places.length]);
      focusPlace();
    } else if (event.key === "Backspace" || event.key === "Delete" || event.key === gapChar()) {
      if (page.pinned[index] !== undefined) unpin(index);
    } else if ([...event.key].length === 1) {
      pin(index, event.key);
    } else {
      return;
    }
    event.preventDefault();
  });

  function openEditor() {
    editor.value = question().sequence;
    editor.hidden = false;
    sheet.hidden = true;
    $("text-edit").setAttribute("aria-pressed", true);
    $("text-edit").textContent = "Done";
    editor.focus();
  }

  function closeEditor() {
    if (editor.hidden) return;
    editor.hidden = true;
    sheet.hidden = false;
    $("text-edit").setAttribute("aria-pressed", false);
    $("text-edit").textContent = "Edit text";
    if (editor.value === question().sequence) return;
    page.characters = [...editor.value];
    page.missing = page.characters.map((c) => c === gapChar());
    page.pinned = {};
    place = null;
    forget();
    draw();
    remember();
  }

  function reset(changes) {
    closeEditor();
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
    reset({ missing: page.characters.map((c) => c === gapChar()), pinned: {} }),
  );
  $("text-example").addEventListener("click", () => reset({ ...example(), seed: 0 }));
  $("place-unpin").addEventListener("click", () => unpin(place));
  const offerStrategies = () => {
    options($("text-strategy"), model().strategies, page.strategy ?? model().strategy);
  };
  options($("text-model"), models.map((m) => m.name), page.model);
  offerStrategies();
  $("text-model").addEventListener("change", (event) => {
    reset({ model: event.target.value, strategy: null });
    offerStrategies();
  });
  $("text-strategy").addEventListener("change", (event) => {
    page.strategy = event.target.value;
    if (page.answer) fill();
    remember();
  });
  draw();
  return {};
}
