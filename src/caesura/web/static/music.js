// The music view: erase notes, say what is wanted there, fill them, look and listen.
import { ask } from "./api.js";
import { showChips } from "./chips.js";
import { element, options, relabel } from "./elements.js";
import { onFile } from "./files.js";
import { History } from "./history.js";
import { KEYS, LOWEST, Mask } from "./mask.js";
import { cut, isSame, keyName, named, partNames } from "./notes.js";
import { Player } from "./player.js";
import { ALL_KEYS, onDrag } from "./pointing.js";
import { Roll } from "./roll.js";
import { downloadSong, encoded } from "./song.js";
import { load, save } from "./store.js";
import { Versions } from "./versions.js";
import { asked as askedWishes, NO_WISHES, Wishes } from "./wishes.js";
import { Work } from "./work.js";

const EXAMPLE = { name: "Greensleeves", path: "/static/greensleeves.mid", bars: [6, 7] };
const SAMPLES = { gsn: 4, sir: 4 }; // these score by averages over many chains, which takes longer
const SOME_SAMPLES = 6;
const AROUND = 4; // quarter notes before and after the gap that are played with it
const BEFORE = -1; // the version that was opened
const $ = (id) => document.getElementById(id);

export function startMusic(models) {
  const roll = new Roll($("roll"), $("scroller"), $("spacer"));
  const work = new Work($("music-fill"), $("music-status"));
  const player = new Player(moved);
  const versions = new Versions($("versions"), { choose, play: playVersion });
  const wishes = new Wishes(
    {
      parts: $("parts"),
      boxes: { top: $("keep-top"), bottom: $("keep-bottom") },
      fields: { keys: $("new-keys"), force: $("force"), forbid: $("forbid") },
    },
    wish,
  );
  // A page is never changed in place, except for its fields.
  const history = new History($("music-undo"), ({ page: before, score: song, gap: then }) => {
    work.stop();
    player.stop();
    asking = null;
    page = before;
    score = song;
    $("music-model").value = model().name;
    offerStrategies();
    took(then);
    work.say("The last change is undone.");
  });
  const kept = () => ({ page: { ...page }, score, gap });
  let page = load("music") ?? { model: models[0].name, strategy: null, seed: 0 };
  let score = null; // the song as it was opened, on the grid
  let mask = new Mask(0); // what was erased
  let gap = null; // what of it is left to fill, and the notes of the song with what is wanted there
  let asking = null; // which song was opened last
  let surveying = null; // which gap was asked about last
  let playing = null; // the button or version that plays

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
    score = { ...told, notes: told.notes.map(named), names: partNames(told.parts) };
    const fresh = { pinned: [], answer: null, shown: BEFORE, wishes: NO_WISHES };
    page = { ...page, name, sequence, steps: score.steps, erased: erased(score), ...fresh };
    took();
    work.say("");
  }

  // Show the song and the state of the page, whose gap may be known.
  function took(known = null) {
    mask = Mask.of(score.steps, page.erased);
    $("song-name").textContent = page.name;
    for (const id of ["bar-first", "bar-last"]) {
      $(id).min = score.first_bar;
      $(id).max = score.first_bar + score.bars.length - 1;
    }
    surveying = null;
    if (known) {
      gap = known;
      draw();
    } else survey();
    remember();
    if (mask.any) roll.reveal(mask.span[0]);
  }

  function remember() {
    const { answer, ...rest } = page;
    save("music", [rest, { answer }]);
  }

  // Find out what is left to fill: the server knows what the wishes leave.
  async function survey() {
    const mine = (surveying = {});
    gap = { left: mask, notes: score.notes };
    draw();
    const wished = askedWishes(page.wishes, score.names.length);
    if (!wished || !mask.any) return;
    const question = { model: model().name, sequence: page.sequence, missing: page.erased, ...wished };
    try {
      const told = await ask("/api/view", question);
      if (surveying !== mine) return;
      gap = { left: Mask.of(score.steps, told.missing), notes: told.notes.map(named) };
      page.pinned = page.pinned.filter(({ first, key }) => gap.left.has(first, key));
      draw();
    } catch (problem) {
      if (surveying === mine) work.say(problem.message, "problem");
    }
  }

  async function openExample() {
    const [first, last] = EXAMPLE.bars;
    return open(EXAMPLE.name, await encoded(await fetch(EXAMPLE.path)), ({ bars, steps }) => [
      { first: bars[first - 1], stop: bars[last] ?? steps, ...ALL_KEYS },
    ]);
  }

  async function openFile(file) {
    await open(file.name, await encoded(file), () => []);
  }

  function fill() {
    if (!score) return;
    if (!mask.any) {
      work.say("Nothing is erased yet: drag over the roll first.");
      return;
    }
    const { sequence, strategy, seed } = page;
    const pinned = page.pinned.map(({ key, struck, stop }) => ({ first: struck, stop, lowest: key, highest: key }));
    const wished = askedWishes(page.wishes, score.names.length) ?? {};
    const asked = { model: model().name, sequence, missing: page.erased, pinned, ...wished, strategy, seed };
    work.run(async (signal) => {
      const samples = SAMPLES[strategy ?? model().strategy] ?? SOME_SAMPLES;
      const fills = await ask("/api/fill", { ...asked, samples, draws: samples }, signal);
      const { places, likeliest } = await ask("/api/marginals", asked, signal);
      if (page.answer) history.keep(kept());
      page.answer = { versions: ranked(fills, samples), places, sounds: likeliest.map(sounding) };
      page.shown = 0;
      draw();
      remember();
      roll.reveal(mask.span[0]);
      const { length } = page.answer.versions;
      return `Filled: ${fresh().length} new notes in the best of ${length} versions.`;
    });
  }

  // The notes of a version, cut at the edges of what was filled; `fresh` parts are inside.
  function notesOf(version) {
    if (version === BEFORE && page.answer) return score.notes.map((note) => ({ ...note, fresh: false }));
    const notes = version === BEFORE ? gap.notes : page.answer.versions[version].notes.map(named);
    const pieces = cut(notes, gap.left, page.pinned);
    return version === BEFORE ? pieces.filter((piece) => !piece.fresh) : pieces;
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
    const all = [...gap.notes, ...(page.answer?.versions ?? []).flatMap((v) => v.notes.map(named))];
    roll.show({
      steps: score.steps,
      perBeat: score.steps_per_beat,
      bars: score.bars,
      beats: score.beats,
      firstBar: score.first_bar,
      notes: notes.filter((note) => !note.pinned),
      left: gap.left,
      expected: sure,
      pinned: page.shown === BEFORE && page.answer ? [] : page.pinned,
      sounding: [...new Set(all.map((note) => note.key))],
      only: page.wishes.part,
    });
    const { span } = mask;
    const part = page.wishes.part ? `, only ${score.names[page.wishes.part - 1] ?? "a new part"}` : "";
    $("roll").setAttribute(
      "aria-label",
      `Piano roll: ${score.bars.length} bars, ${notes.length} notes, ` +
        (span ? `erased from bar ${barOf(span[0])} to bar ${barOf(span[1] - 1)}${part}` : "nothing erased"),
    );
    wishes.show(page.wishes, score.names);
    drawVersions();
    drawNewNotes(sure);
  }

  function drawVersions() {
    const filled = page.answer?.versions ?? [];
    $("versions-card").hidden = !filled.length;
    $("music-adopt").disabled = page.shown === BEFORE;
    if (!filled.length) {
      versions.show([], [0, 1], []);
      return;
    }
    const [first, stop] = mask.span;
    const margin = 2 * score.steps_per_beat;
    const shown = [BEFORE, ...filled.keys()].map((number) => {
      const notes = notesOf(number);
      const count = notes.filter((note) => note.fresh).length;
      const told = count === 1 ? "1 new note" : `${count} new notes`;
      const [name, words] = number === BEFORE ? ["Original", ""] : [`Fill ${number + 1}`, told];
      return { number, name, told: words, notes, isShown: page.shown === number };
    });
    versions.show(shown, [Math.max(first - margin, 0), Math.min(stop + margin, score.steps)], score.bars);
    versions.mark(playing);
    $("versions-nats").replaceChildren(
      ...filled.map(({ logProb }) => element("li", { text: `${nats(logProb)} nats` })),
    );
  }

  function choose(version) {
    const wasPlaying = player.playing;
    player.stop();
    page.shown = version;
    draw();
    remember();
    if (wasPlaying) play(true);
  }

  function playVersion(version) {
    const wasPlaying = playing === version;
    player.stop();
    if (wasPlaying) return;
    if (page.shown !== version) choose(version);
    play(true, version);
  }

  function drawNewNotes(sure) {
    const pins = page.pinned.map((pin) => ({ ...pin, pinned: true }));
    const notes = [...fresh().filter((note) => !note.pinned), ...pins];
    $("notes-hint").hidden = notes.length > 0;
    showChips($("new-notes"), notes, { sure, bar: barOf, toggle: togglePin });
  }

  function togglePin({ key, first, stop, struck, part }) {
    const pin = { key, first, stop, struck, part };
    history.keep(kept());
    page.pinned = page.pinned.some((one) => isSame(one, pin))
      ? page.pinned.filter((one) => !isSame(one, pin))
      : [...page.pinned, pin];
    draw();
    remember();
    const count = page.pinned.length;
    work.say(count ? `${count} new ${count === 1 ? "note is" : "notes are"} kept: Fill draws the rest again.` : "");
  }

  const barOf = (step) => score.bars.findLastIndex((start) => start <= step) + score.first_bar;

  function change(box, missing) {
    work.stop();
    history.keep(kept());
    mask = Mask.of(score.steps, page.erased); // another one: the last may be asked back
    mask.set(box, missing);
    page.erased = mask.boxes;
    page.pinned = page.pinned.filter(({ key, first }) => mask.has(first, key));
    page.answer = null;
    page.shown = BEFORE;
    const { span } = mask;
    work.say(span ? `Erased: from bar ${barOf(span[0])} to bar ${barOf(span[1] - 1)}.` : "Nothing is erased.");
    survey();
    remember();
  }

  // Something else is wanted: the fills before did not have it.
  function wish(wanted) {
    if (!score) return;
    work.stop();
    player.stop();
    history.keep(kept());
    page.wishes = wanted;
    page.pinned = page.pinned.filter(({ part }) => !wanted.part || wanted.part === part);
    page.answer = null;
    page.shown = BEFORE;
    work.say("");
    survey();
    remember();
  }

  onDrag(roll, {
    pointed(place) {
      const told = place && `bar ${barOf(place.step)}, beat ${beatOf(place.step)}, ${keyName(place.key)}`;
      $("pointed").textContent = told ?? "";
    },
    clicked({ step, key }) {
      const covers = (note) => note.key === key && note.first <= step && note.stop > step;
      const note = [...page.pinned, ...fresh()].find(covers);
      if (note) togglePin(note);
      return Boolean(note);
    },
    dragged: change,
  });

  const beatOf = (step) => {
    const start = score.bars.findLast((bar) => bar <= step) ?? 0;
    return Math.max(score.beats.filter((beat) => beat >= start && beat <= step).length, 1);
  };

  function moved(step) {
    roll.cursor = step;
    if (step === null) {
      playing = null;
      for (const id of Object.keys(LABELS)) label(id, LABELS[id]);
      versions.mark(null);
    } else roll.reveal(step, { anywhere: true });
    roll.draw();
  }

  const LABELS = { "music-play": "Play", "music-play-gap": "Play around the gap" };
  const label = (id, shown) => relabel($(id), [LABELS[id], "Stop"], shown);

  function play(aroundGap, version = null) {
    if (!score) return;
    const { span } = mask;
    const around = AROUND * score.steps_per_beat;
    const [first, stop] =
      aroundGap && span
        ? [Math.max(span[0] - around, 0), Math.min(span[1] + around, score.steps)]
        : [0, score.steps];
    // Not the parts that are drawn: a note over the edge of a gap is struck once.
    const filled = page.answer && page.shown !== BEFORE;
    const notes = filled ? page.answer.versions[page.shown].notes.map(named) : notesOf(BEFORE);
    player.play(notes, score.seconds, first, stop);
    playing = version;
    if (version === null) label(aroundGap ? "music-play-gap" : "music-play", "Stop");
    versions.mark(version);
  }

  for (const id of Object.keys(LABELS)) {
    label(id, LABELS[id]);
    $(id).addEventListener("click", () => (player.playing ? player.stop() : play(id === "music-play-gap")));
  }

  const isFilled = () => page.answer && page.shown !== BEFORE;
  const shownSequence = () => (isFilled() ? page.answer.versions[page.shown].sequence : page.sequence);

  $("music-fill").addEventListener("click", () => (work.running ? work.stop() : fill()));
  $("music-again").addEventListener("click", () => {
    page.seed = (page.seed + 1) % 2 ** 32;
    fill();
  });
  $("music-adopt").addEventListener("click", async () => {
    const name = `Fill ${page.shown + 1}`;
    await open(page.name, shownSequence(), () => []);
    work.say(`${name} is part of the song now: erase something else, or download it.`);
  });
  $("music-back").addEventListener("click", () => score && change({ first: 0, stop: score.steps, ...ALL_KEYS }, false));
  $("music-download").addEventListener("click", () => {
    if (!score) return;
    const addition = isFilled() ? `-filled-${page.shown + 1}` : "";
    downloadSong(shownSequence(), page.name, addition, score.suffix);
  });
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
    const zero = score.first_bar;
    const end = zero + score.bars.length - 1;
    if (!(zero <= first && first <= last && last <= end && lowest <= highest)) {
      work.say(`Choose bars from ${zero} to ${end}, and the lower key first.`, "problem");
      return;
    }
    const [start, stop] = [score.bars[first - zero], score.bars[last - zero + 1] ?? score.steps];
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
    const { steps, erased, pinned, answer, shown, wishes: wanted } = page;
    const isSameGrid = (song) => song.steps === steps; // the model may be another than it was
    await open(page.name, page.sequence, (song) => (isSameGrid(song) ? erased : []));
    if (!score || !isSameGrid(score)) return;
    Object.assign(page, { pinned, answer: answer ?? null, shown: answer ? shown : BEFORE, wishes: { ...NO_WISHES, ...wanted } });
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

// The best fill, and other ones in the order of how well their notes agree with those of all draws.
function ranked(fills, count) {
  const best = { sequence: fills.best, notes: fills.view.notes, logProb: fills.log_prob };
  const order = fills.candidates.map((one) => one.sequence);
  const drawn = fills.samples.map((sequence, n) => ({
    sequence,
    notes: fills.views[n].notes,
    logProb: fills.log_probs[n],
  }));
  drawn.sort((a, b) => order.indexOf(a.sequence) - order.indexOf(b.sequence));
  const different = new Map([best, ...drawn].map((one) => [one.sequence, one]));
  return [...different.values()].slice(0, count);
}

// How probable it is that a key is not silent: it may be held or struck.
const sounding = (row) => row.reduce((sum, [symbol, p]) => (symbol ? sum + p : sum), 0);

const nats = (number) => number.toFixed(1).replace("-", "−");
