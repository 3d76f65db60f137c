// The music view: erase notes, fill them, look and listen.
import { ask } from "./api.js";
import { bar, element, options, percent, relabel } from "./elements.js";
import { download, onFile } from "./files.js";
import { History } from "./history.js";
import { KEYS, LOWEST, Mask } from "./mask.js";
import { Player } from "./player.js";
import { keyName, Roll } from "./roll.js";
import { load, save } from "./store.js";
import { Work } from "./work.js";

const EXAMPLE = { name: "Greensleeves", path: "/static/greensleeves.mid", bars: [6, 7] };
const SAMPLES = { gsn: 4, sir: 4 }; // these score by averages over many chains, which takes longer
const SOME_SAMPLES = 6;
const AROUND = 12; // steps before and after the gap that are played with it
const BEFORE = -1; // the version that was opened
const ALL_KEYS = { lowest: LOWEST, highest: LOWEST + KEYS - 1 };
const $ = (id) => document.getElementById(id);

export function startMusic(models) {
  const roll = new Roll($("roll"), $("scroller"), $("spacer"));
  const work = new Work($("music-fill"), $("music-status"));
  const player = new Player(moved);
  // A page is never changed in place, except for its fields.
  const history = new History($("music-undo"), ({ page: before, score: song }) => {
    work.stop();
    player.stop();
    asking = null;
    page = before;
    score = song;
    $("music-model").value = model().name;
    offerStrategies();
    took();
    work.say("The last change is undone.");
  });
  const kept = () => ({ page: { ...page }, score });
  let page = load("music") ?? { model: models[0].name, strategy: null, seed: 0 };
  let score = null; // the song as it was opened, on the grid
  let mask = new Mask(0);
  let asking = null; // which song was opened last

  const model = () => models.find((m) => m.name === page.model) ?? models[0];

  async function open(name, sequence, erased, before = kept()) {
    work.stop();
    player.stop();
    const mine = (asking = {});
    let told;
    try {
      told = await ask("/api/view", { model: model().name, sequence });
    } catch (problem) {
      work.say(problem.message, "problem");
      return;
    }
    if (asking !== mine) return;
    if (score) history.keep(before);
    score = { ...told, notes: told.notes.map(named) };
    page = { ...page, name, sequence, erased: erased(score), pinned: [], answer: null, shown: BEFORE };
    took();
    work.say("");
  }

  // Show the song and the state of the page.
  function took() {
    mask = Mask.of(score.steps, page.erased);
    $("song-name").textContent = page.name;
    for (const id of ["bar-first", "bar-last"]) $(id).max = score.bars.length;
    draw();
    remember();
    if (mask.any) roll.reveal(mask.span[0]);
  }

  function remember() {
    const { answer, ...rest } = page;
    save("music", [rest, { answer }]);
  }

  async function openExample() {
    const content = await (await fetch(EXAMPLE.path)).arrayBuffer();
    const [first, last] = EXAMPLE.bars;
    return open(EXAMPLE.name, toBase64(content), ({ bars, steps }) => [
      { first: bars[first - 1], stop: bars[last] ?? steps, ...ALL_KEYS },
    ]);
  }

  async function openFile(file) {
    await open(file.name, toBase64(await file.arrayBuffer()), () => []);
  }

  function fill() {
    if (!score) return;
    if (!mask.any) {
      work.say("Nothing is erased yet: drag over the roll first.");
      return;
    }
    const { sequence, strategy, seed } = page;
    const pinned = page.pinned.map(({ key, first, stop }) => ({ first, stop, lowest: key, highest: key }));
    const asked = { model: model().name, sequence, missing: page.erased, pinned, strategy, seed };
    work.run(async (signal) => {
      const samples = SAMPLES[strategy ?? model().strategy] ?? SOME_SAMPLES;
      const fills = await ask("/api/fill", { ...asked, samples, draws: samples }, signal);
      const { places, likeliest } = await ask("/api/marginals", asked, signal);
      const sounds = likeliest.map((row) => row.find(([symbol]) => symbol === 1)?.[1] ?? 0);
      // The candidates are in the order of how well their notes agree with those of all draws.
      const ranked = fills.candidates.map((one) => one.sequence);
      const rank = (n) => ranked.indexOf(fills.samples[n]);
      const order = fills.samples.map((_, n) => n).sort((a, b) => rank(a) - rank(b));
      if (page.answer) history.keep(kept());
      page.answer = {
        versions: order.map((n) => ({
          sequence: fills.samples[n],
          notes: fills.views[n].notes,
          logProb: fills.log_probs[n],
        })),
        places,
        sounds,
      };
      page.shown = 0;
      draw();
      remember();
      roll.reveal(mask.span[0]);
      return `Filled: ${fresh().length} new notes in the best of ${samples} versions.`;
    });
  }

  // The notes of a version, cut at the edges of what was erased; `fresh` parts are inside.
  function notesOf(version) {
    if (version === BEFORE && page.answer) return score.notes.map((note) => ({ ...note, fresh: false }));
    const pins = Mask.of(score.steps, page.pinned.map((p) => ({ ...p, lowest: p.key, highest: p.key })));
    const notes = version === BEFORE ? score.notes : page.answer.versions[version].notes.map(named);
    const parts = notes.flatMap((note) => {
      const cut = [];
      for (let step = note.first; step < note.stop; step++) {
        const fresh = mask.has(step, note.key);
        const pinned = pins.has(step, note.key);
        const last = cut.at(-1);
        if (last && last.fresh === fresh && last.pinned === pinned) last.stop = step + 1;
        else cut.push({ ...note, first: step, stop: step + 1, fresh, pinned });
      }
      return cut;
    });
    return version === BEFORE ? parts.filter((part) => !part.fresh) : parts;
  }

  const fresh = () => (page.shown === BEFORE ? [] : notesOf(page.shown).filter((n) => n.fresh));

  function draw() {
    if (!score) return;
    const expected = new Map();
    page.answer?.places.forEach(([step, component], n) => {
      expected.set(step * KEYS + component, page.answer.sounds[n]);
    });
    const sure = (step, key) => expected.get(step * KEYS + key - LOWEST) ?? 0;
    const notes = notesOf(page.shown);
    const all = [...score.notes, ...(page.answer?.versions ?? []).flatMap((v) => v.notes.map(named))];
    roll.show({
      steps: score.steps,
      bars: score.bars,
      notes: notes.filter((note) => !note.pinned),
      mask,
      expected: sure,
      pinned: page.shown === BEFORE && page.answer ? [] : page.pinned,
      sounding: [...new Set(all.map((note) => note.key))],
    });
    const { span } = mask;
    $("roll").setAttribute(
      "aria-label",
      `Piano roll: ${score.bars.length} bars, ${notes.length} notes, ` +
        (span ? `erased from bar ${barOf(span[0])} to bar ${barOf(span[1] - 1)}` : "nothing erased"),
    );
    drawVersions();
    drawNewNotes(sure);
  }

  function drawVersions() {
    const versions = page.answer?.versions ?? [];
    const choose = (version) => () => {
      const playing = player.playing;
      player.stop();
      page.shown = version;
      draw();
      remember();
      if (playing) play(true);
    };
    $("versions").replaceChildren(
      bar("Original", "", 0, { pressed: page.shown === BEFORE, choose: choose(BEFORE) }),
      ...versions.map((_, n) => {
        const count = notesOf(n).filter((note) => note.fresh).length;
        const told = count === 1 ? "1 new note" : `${count} new notes`;
        return bar(`Fill ${n + 1}`, told, 0, { pressed: page.shown === n, choose: choose(n) });
      }),
    );
    $("versions-details").hidden = !versions.length;
    $("versions-nats").replaceChildren(
      ...versions.map(({ logProb }) => element("li", { text: `${nats(logProb)} nats` })),
    );
  }

  function drawNewNotes(sure) {
    const pins = page.pinned.map((pin) => ({ ...pin, pinned: true }));
    const notes = [...fresh().filter((note) => !note.pinned), ...pins];
    notes.sort((a, b) => a.first - b.first || a.key - b.key); // so that none moves when it is kept
    $("notes-hint").hidden = notes.length > 0;
    $("new-notes").replaceChildren(
      ...notes.map((note) => {
        const p = mean(note, sure);
        const button = element("button", {
          type: "button",
          text: keyName(note.key),
          label: `${keyName(note.key)} in bar ${barOf(note.first)}, ${note.pinned ? "kept" : `${percent(p)} sure`}`,
        });
        button.style.setProperty("--p", p);
        button.setAttribute("aria-pressed", Boolean(note.pinned));
        button.addEventListener("click", () => togglePin(note));
        return element("li", {}, button);
      }),
    );
  }

  function togglePin(note) {
    const same = (pin) => pin.key === note.key && pin.first === note.first && pin.stop === note.stop;
    const { key, first, stop } = note;
    history.keep(kept());
    page.pinned = page.pinned.some(same)
      ? page.pinned.filter((pin) => !same(pin))
      : [...page.pinned, { key, first, stop }];
    draw();
    remember();
    const count = page.pinned.length;
    work.say(count ? `${count} new ${count === 1 ? "note is" : "notes are"} kept: Fill draws the rest again.` : "");
  }

  const mean = ({ key, first, stop }, sure) => {
    let sum = 0;
    for (let step = first; step < stop; step++) sum += sure(step, key);
    return sum / (stop - first);
  };

  const barOf = (step) => score.bars.findLastIndex((start) => start <= step) + 1;

  function change(box, missing) {
    work.stop();
    history.keep(kept());
    mask.set(box, missing);
    page.erased = mask.boxes;
    page.pinned = page.pinned.filter(({ key, first }) => mask.has(first, key));
    page.answer = null;
    page.shown = BEFORE;
    draw();
    remember();
    const { span } = mask;
    work.say(span ? `Erased: from bar ${barOf(span[0])} to bar ${barOf(span[1] - 1)}.` : "Nothing is erased.");
  }

  // Dragging over the roll.
  const tool = () => document.querySelector("input[name=tool]:checked").value;
  let drag = null;
  const selected = () => {
    const [a, b] = [drag.from, drag.to];
    const steps = { first: Math.min(a.step, b.step), stop: Math.max(a.step, b.step) + 1 };
    if (tool() === "span") return { ...steps, ...ALL_KEYS };
    const [lowest, highest] = [Math.min(a.key, b.key), Math.max(a.key, b.key)];
    // A box that reaches the edge of the drawing reaches the end of the keyboard.
    return {
      ...steps,
      lowest: lowest === roll.lowest ? ALL_KEYS.lowest : lowest,
      highest: highest === roll.highest ? ALL_KEYS.highest : highest,
    };
  };
  $("roll").addEventListener("pointerdown", (event) => {
    if (!score || event.button !== 0 || tool() === "move") return;
    $("roll").setPointerCapture(event.pointerId);
    drag = { from: roll.at(event), to: roll.at(event) };
  });
  $("roll").addEventListener("pointermove", (event) => {
    if (!drag) return;
    drag.to = roll.at(event);
    roll.selection = selected();
    roll.draw();
  });
  $("roll").addEventListener("pointerup", (event) => {
    if (!drag) return;
    const { from } = drag;
    const box = selected();
    drag = roll.selection = null;
    const clicked = box.stop - box.first === 1 && roll.at(event).key === from.key;
    const covers = (note) => note.key === from.key && note.first <= from.step && note.stop > from.step;
    const note = clicked && [...page.pinned, ...fresh()].find(covers);
    if (note) togglePin(note);
    else change(box, tool() !== "back");
  });
  $("roll").addEventListener("pointercancel", () => {
    drag = roll.selection = null;
    roll.draw();
  });
  for (const input of document.querySelectorAll("input[name=tool]")) {
    input.addEventListener("change", () => $("roll").classList.toggle("moves", tool() === "move"));
  }

  function moved(step) {
    roll.cursor = step;
    if (step === null) for (const id of Object.keys(LABELS)) label(id, LABELS[id]);
    else roll.reveal(step, { anywhere: true });
    roll.draw();
  }

  const LABELS = { "music-play": "Play", "music-play-gap": "Play around the gap" };
  const label = (id, shown) => relabel($(id), [LABELS[id], "Stop"], shown);

  function play(aroundGap) {
    if (!score) return;
    const { span } = mask;
    const [first, stop] =
      aroundGap && span
        ? [Math.max(span[0] - AROUND, 0), Math.min(span[1] + AROUND, score.steps)]
        : [0, score.steps];
    // Not the parts that are drawn: a note over the edge of a gap is struck once.
    const filled = page.answer && page.shown !== BEFORE;
    const notes = filled ? page.answer.versions[page.shown].notes.map(named) : notesOf(BEFORE);
    player.play(notes, score.seconds, first, stop);
    label(aroundGap ? "music-play-gap" : "music-play", "Stop");
  }

  for (const id of Object.keys(LABELS)) {
    label(id, LABELS[id]);
    $(id).addEventListener("click", () => (player.playing ? player.stop() : play(id === "music-play-gap")));
  }

  function downloadSong() {
    if (!score) return;
    const filled = page.answer && page.shown !== BEFORE;
    const sequence = filled ? page.answer.versions[page.shown].sequence : page.sequence;
    const bytes = Uint8Array.from(atob(sequence), (c) => c.charCodeAt(0));
    const name = page.name.replace(/\.midi?$/i, "");
    download(filled ? `${name}-filled-${page.shown + 1}.mid` : `${name}.mid`, bytes, "audio/midi");
  }

  $("music-fill").addEventListener("click", () => (work.running ? work.stop() : fill()));
  $("music-again").addEventListener("click", () => {
    page.seed = (page.seed + 1) % 2 ** 32;
    fill();
  });
  $("music-back").addEventListener("click", () => score && change({ first: 0, stop: score.steps, ...ALL_KEYS }, false));
  $("music-download").addEventListener("click", downloadSong);
  $("music-example").addEventListener("click", openExample);
  onFile(
    { view: $("view-music"), card: $("roll-card"), button: $("music-open"), input: $("music-file") },
    openFile,
  );
  const pitches = Array.from({ length: KEYS }, (_, n) => LOWEST + n);
  for (const [id, chosen] of [["key-lowest", ALL_KEYS.lowest], ["key-highest", ALL_KEYS.highest]]) {
    $(id).replaceChildren(...pitches.map((key) => element("option", { value: key, text: keyName(key) })));
    $(id).value = chosen;
  }
  $("erase-numbers").addEventListener("click", () => {
    if (!score) return;
    const [first, last, lowest, highest] = ["bar-first", "bar-last", "key-lowest", "key-highest"].map((id) =>
      Number($(id).value),
    );
    if (!(1 <= first && first <= last && last <= score.bars.length && lowest <= highest)) {
      work.say(`Choose bars from 1 to ${score.bars.length}, and the lower key first.`, "problem");
      return;
    }
    const [start, stop] = [score.bars[first - 1], score.bars[last] ?? score.steps];
    change({ first: start, stop, lowest, highest }, true);
    roll.reveal(start);
  });
  const offerStrategies = () => {
    options($("music-strategy"), model().strategies, page.strategy ?? model().strategy);
  };
  options($("music-model"), models.map((m) => m.name), page.model);
  offerStrategies();
  $("music-model").addEventListener("change", (event) => {
    const before = kept();
    Object.assign(page, { model: event.target.value, strategy: null });
    offerStrategies();
    if (page.sequence) open(page.name, page.sequence, () => [], before); // its grid may be another
  });
  $("music-strategy").addEventListener("change", (event) => {
    page.strategy = event.target.value;
    if (page.answer) fill();
    remember();
  });

  async function resume() {
    const { erased, pinned, answer, shown } = page;
    await open(page.name, page.sequence, () => erased);
    if (!score) return;
    Object.assign(page, { pinned, answer: answer ?? null, shown: answer ? shown : BEFORE });
    took();
  }

  if (page.sequence) resume();
  else openExample();
  return {
    visible(shown) {
      if (shown) roll.draw();
      else player.stop();
    },
  };
}

const nats = (number) => number.toFixed(1).replace("-", "−");

const named = ([key, first, stop, velocity]) => ({ key, first, stop, velocity });

function toBase64(buffer) {
  let text = "";
  for (const byte of new Uint8Array(buffer)) text += String.fromCharCode(byte);
  return btoa(text);
}
