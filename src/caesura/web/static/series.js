// The series view: draw a table, and fill its gaps at once or by a model that is trained on it.
import { ask, askLines } from "./api.js";
import { Chart } from "./chart.js";
import { element, options } from "./elements.js";
import { download, onFile } from "./files.js";
import { History } from "./history.js";
import { load, save } from "./store.js";
import { isDaily, written } from "./ticks.js";
import { Work } from "./work.js";

const EXAMPLE = { name: "CO₂ at Mauna Loa", path: "/static/mauna-loa-co2.csv" };
const AT_ONCE = "pretrained, at once";
const TUNED = "tuned on this table, half a minute";
const ITSELF = "trained on this table";
const ADAPT = { [TUNED]: "quick", [ITSELF]: "full" };
const TOLD = 200; // rows of the list of numbers
const CLICK = 4; // pixels: a drag is longer
const AROUND = 12; // rows that are shown on either side of a gap
const $ = (id) => document.getElementById(id);

export function startSeries(models) {
  const work = new Work($("series-fill"), $("series-status"));
  let page = load("series") ?? { model: null };
  let table = null; // as it was opened
  let charts = [];
  let asking = null; // which table was opened last
  const history = new History($("series-undo"), ({ page: before, table: told }) => {
    work.stop();
    asking = null;
    page = before;
    $("series-model").value = page.model ?? AT_ONCE;
    took(told);
    work.say("The last change is undone.");
  });
  const kept = () => ({ page: { ...page }, table });

  async function open(name, sequence) {
    work.stop();
    const mine = (asking = {});
    let told;
    try {
      told = await ask("/api/table", { sequence });
    } catch (problem) {
      work.say(problem.message, "problem");
      return;
    }
    if (asking !== mine) return;
    if (table) history.keep(kept());
    page = { model: page.model, name, sequence, left: [], range: null, answer: null };
    took(told);
    work.say(told.others.length ? `These columns hold no numbers and are not drawn: ${told.others.join(", ")}.` : "");
  }

  function took(told) {
    const daily = told.time !== null && isDaily(told.x);
    const say = (row) => (told.time === null ? `row ${row + 1}` : written(told.x[row], daily));
    table = { ...told, say, columns: told.columns.map((column) => ({ ...column, gaps: gapsOf(column.values) })) };
    $("table-name").textContent = page.name;
    $("charts").replaceChildren(...(charts = table.columns.map(makeChart)).map(({ card }) => card));
    draw();
    remember();
  }

  function remember() {
    const { answer, ...rest } = page;
    save("series", [rest, { answer }]);
  }

  const openFile = async (file) => open(file.name, await file.text());
  const openExample = async () => open(EXAMPLE.name, await (await fetch(EXAMPLE.path)).text());

  const whole = () => (table.x.length > 1 ? [table.x[0], table.x.at(-1)] : [table.x[0] - 1, table.x[0] + 1]);
  const chosen = () => table.columns.filter(({ name }) => !page.left.includes(name));

  // A card with one column; for screen readers, the canvas is a slider along its rows.
  function makeChart(column, number) {
    const { name, values, gaps } = column;
    const missing = values.filter((value) => value === null).length;
    const counted = missing ? `${missing} of ${values.length} missing, ${several(gaps.length, "gap")}` : `${values.length} rows, none missing`;
    const canvas = element("canvas", { tabIndex: 0, role: "slider", label: `${name}: ${counted}` });
    canvas.setAttribute("aria-valuemin", 1);
    canvas.setAttribute("aria-valuemax", values.length);
    const box = element("input", { type: "checkbox", checked: !page.left.includes(name), id: `column-${number}` });
    const readout = element("p", { className: "readout" });
    const head = element(
      "div",
      { className: "chart-head" },
      element("label", { htmlFor: box.id, title: "Learn this column and fill it" }, box, element("strong", { text: name })),
      element("span", { className: "hint", text: counted }),
      readout,
    );
    box.addEventListener("change", () => {
      history.keep(kept());
      page.left = box.checked ? page.left.filter((other) => other !== name) : [...page.left, name];
      forget();
    });
    const chart = new Chart(canvas, { x: table.x, isTime: table.time !== null, values, gaps });
    const made = { column, chart, canvas, readout, box, card: element("div", { className: "card chart" }, head, canvas) };
    listen(made);
    return made;
  }

  function forget() {
    work.stop();
    page.answer = null;
    draw();
    remember();
  }

  function draw() {
    const range = page.range ?? whole();
    for (const { column, chart, card } of charts) {
      const told = page.answer?.columns.find(({ name }) => name === column.name);
      chart.filled = told?.rows.length ? { ...told, places: new Map(told.rows.map((row, n) => [row, n])) } : null;
      chart.range = range;
      card.classList.toggle("left", page.left.includes(column.name));
      chart.draw();
    }
    $("series-whole").disabled = page.range === null;
    $("series-legend").classList.toggle("unfilled", !page.answer);
    $("series-download").disabled = !page.answer;
    drawNumbers();
    look(charts[0]?.chart.row ?? null);
  }

  // The value at a row: to read, and for screen readers.
  function tell({ column, chart }, row) {
    if (row === null) return ["", "no row is chosen"];
    const when = table.say(row);
    const value = column.values[row] ?? "missing";
    const n = chart.filled?.places.get(row);
    if (n === undefined) return [`${when}: ${value}`, `${when}: ${value}`];
    const digits = digitsOf(column.values);
    const [low, , median, , high] = chart.filled.quantiles.map((numbers) => numbers[n].toFixed(digits));
    return [`${when}: ${median} (${low} to ${high})`, `${when}: ${median}, 90 % from ${low} to ${high}`];
  }

  function look(row) {
    for (const made of charts) {
      made.chart.row = row;
      made.chart.draw();
      const [read, heard] = tell(made, row);
      made.readout.textContent = read;
      made.canvas.setAttribute("aria-valuenow", (row ?? 0) + 1);
      made.canvas.setAttribute("aria-valuetext", heard);
    }
  }

  function drawNumbers() {
    const rows = (page.answer?.columns ?? []).flatMap((told) => {
      const digits = digitsOf(table.columns.find(({ name }) => name === told.name).values);
      return told.rows.map((row, n) => [
        table.say(row),
        told.name,
        ...[2, 0, 4].map((level) => told.quantiles[level][n].toFixed(digits)),
      ]);
    });
    $("numbers-card").hidden = !rows.length;
    $("numbers-more").textContent = rows.length > TOLD ? `The first ${TOLD} of ${rows.length}. The downloaded file has all.` : "";
    $("numbers-rows").replaceChildren(
      ...rows.slice(0, TOLD).map(([when, ...cells]) =>
        element("tr", {}, element("th", { scope: "row", text: when }), ...cells.map((text) => element("td", { text }))),
      ),
    );
  }

  function fill() {
    if (!table) return;
    const columns = chosen();
    if (!columns.some(({ gaps }) => gaps.length)) {
      work.say(columns.length ? "Nothing is missing in these columns." : "Choose a column to fill first.");
      return;
    }
    const own = page.model === null || page.model in ADAPT;
    const asked = { sequence: page.sequence, model: own ? null : page.model, adapt: ADAPT[page.model] ?? "none" };
    if (own) asked.columns = columns.map(({ name }) => name);
    if (page.answer) history.keep(kept());
    page.answer = null;
    draw();
    progress(null);
    const began = Date.now();
    work.run(async (signal) => {
      try {
        for await (const told of askLines("/api/fill/series", asked, signal)) {
          if (told.state === "filled") page.answer = told;
          else hear(told);
        }
      } finally {
        progress(undefined);
      }
      draw();
      remember();
      const count = page.answer.columns.reduce((sum, { rows }) => sum + rows.length, 0);
      const more = page.model === null ? ` For a model that learns this table, choose "${TUNED}" or "${ITSELF}" and fill again.` : "";
      return `Filled: ${several(count, "number")}, in ${duration((Date.now() - began) / 1000)}.${more}`;
    }, "Another table is being filled. This one is next in line.");
  }

  // Only say a sentence when something new begins: a screen reader reads each of them.
  let heard = null;
  function hear(told) {
    const state = told.state === "trains" && told.step === 0 ? "begins" : told.state;
    const words = {
      begins: "Training begins. Compiling takes some seconds first.",
      trains: "A model is being trained on the table.",
      draws: "The gaps are being filled.",
    };
    if (state !== heard && words[state]) work.say(words[state], "working");
    heard = state;
    if (state !== "trains") return progress(null);
    const left = told.seconds_left === null ? "" : `, ${duration(told.seconds_left)} left`;
    progress(told.step / told.steps, `${told.step} of ${told.steps} updates${left}`);
  }

  // From 0 to 1; null if unknown, undefined to hide the bar.
  function progress(part, words = "") {
    const meter = $("series-progress");
    meter.parentElement.hidden = part === undefined;
    if (part === null || part === undefined) meter.removeAttribute("value");
    else meter.value = part;
    $("series-left").textContent = words;
  }

  // Pointing, dragging and keys on a chart.
  function listen(made) {
    const { chart, canvas, column } = made;
    let drag = null;
    const nearest = (event) => {
      const at = chart.at(event);
      const after = table.x.findIndex((x) => x >= at);
      if (after <= 0) return after < 0 ? table.x.length - 1 : 0;
      return at - table.x[after - 1] < table.x[after] - at ? after - 1 : after;
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      drag = { from: chart.at(event), pixel: event.clientX };
      look(nearest(event));
    });
    canvas.addEventListener("pointermove", (event) => {
      look(nearest(event));
      if (!drag) return;
      chart.selection = [drag.from, chart.at(event)].sort((a, b) => a - b);
      chart.draw();
    });
    canvas.addEventListener("pointerup", (event) => {
      if (!drag) return;
      const long = Math.abs(event.clientX - drag.pixel) > CLICK;
      const range = chart.selection;
      drag = chart.selection = null;
      const rows = long && range ? table.x.filter((x) => x >= range[0] && x <= range[1]).length : 0;
      if (rows > 2) show(range);
      else chart.draw();
    });
    canvas.addEventListener("pointercancel", () => {
      drag = chart.selection = null;
      chart.draw();
    });
    canvas.addEventListener("pointerleave", () => {
      if (!drag && document.activeElement !== canvas) look(null);
    });
    canvas.addEventListener("focus", () => canvas.matches(":focus-visible") && chart.row === null && look(rowInSight()));
    canvas.addEventListener("keydown", (event) => {
      const row = chart.row ?? 0;
      const last = table.x.length - 1;
      const next = {
        ArrowRight: row + 1,
        ArrowUp: row + 1,
        ArrowLeft: row - 1,
        ArrowDown: row - 1,
        Home: 0,
        End: last,
        PageDown: column.gaps.find(([first]) => first > row)?.[0] ?? row,
        PageUp: column.gaps.findLast(([first]) => first < row)?.[0] ?? row,
      }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      look(Math.min(Math.max(next, 0), last));
      keepInSight(chart.row);
    });
  }

  const rowInSight = () => Math.max(table.x.findIndex((x) => x >= (page.range ?? whole())[0]), 0);

  function keepInSight(row) {
    if (!page.range) return;
    const [low, high] = page.range;
    const x = table.x[row];
    if (x < low || x > high) show([x - (high - low) / 2, x + (high - low) / 2]);
  }

  function show(range) {
    const [first, last] = whole();
    if (range && range[0] < first) range = [first, Math.min(last, range[1] + first - range[0])];
    if (range && range[1] > last) range = [Math.max(first, range[0] + last - range[1]), last];
    page.range = range && range[1] - range[0] < last - first ? range : null;
    draw();
    remember();
  }

  // Show the next gap of any column after what is in sight, or the one before it.
  function step(forward) {
    if (!table) return;
    const gaps = chosen().flatMap((column) => column.gaps).sort((a, b) => a[0] - b[0]);
    if (!gaps.length) return;
    const middle = page.range && (page.range[0] + page.range[1]) / 2;
    const centre = ([first, stop]) => (table.x[first] + table.x[stop - 1]) / 2;
    const slack = (table.x.at(-1) - table.x[0]) / table.x.length / 4;
    const found =
      page.range === null
        ? forward ? gaps[0] : gaps.at(-1)
        : forward
          ? gaps.find((gap) => centre(gap) > middle + slack) ?? gaps[0]
          : gaps.findLast((gap) => centre(gap) < middle - slack) ?? gaps.at(-1);
    const [first, stop] = found;
    const rows = Math.max(AROUND, stop - first);
    const at = (row) => table.x[Math.min(Math.max(row, 0), table.x.length - 1)];
    const half = Math.max(centre(found) - at(first - rows), at(stop - 1 + rows) - centre(found));
    show([centre(found) - half, centre(found) + half]);
    look(first);
  }

  function downloadTable() {
    if (page.answer) download(`${page.name.replace(/\.csv$/i, "")}-filled.csv`, page.answer.sequence, "text/csv");
  }

  $("series-fill").addEventListener("click", () => (work.running ? work.stop() : fill()));
  $("series-example").addEventListener("click", openExample);
  $("series-download").addEventListener("click", downloadTable);
  $("series-whole").addEventListener("click", () => table && show(null));
  $("series-before").addEventListener("click", () => step(false));
  $("series-next").addEventListener("click", () => step(true));
  onFile(
    { view: $("view-series"), card: $("charts"), button: $("series-open"), input: $("series-file") },
    openFile,
  );
  options($("series-model"), [AT_ONCE, TUNED, ITSELF, ...models.map((model) => model.name)], page.model ?? AT_ONCE);
  $("series-model").addEventListener("change", (event) => {
    if (table) history.keep(kept());
    page.model = event.target.value === AT_ONCE ? null : event.target.value;
    if (table) forget();
  });

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => table && draw());

  async function restore() {
    if (!page.sequence) return openExample();
    try {
      took(await ask("/api/table", { sequence: page.sequence }));
    } catch (problem) {
      work.say(problem.message, "problem");
    }
  }
  restore();
  return { visible: (shown) => shown && table && draw() };
}

function gapsOf(values) {
  const gaps = [];
  values.forEach((value, row) => {
    if (value !== null) return;
    if (gaps.length && gaps.at(-1)[1] === row) gaps.at(-1)[1] = row + 1;
    else gaps.push([row, row + 1]);
  });
  return gaps;
}

// So many decimals that the range of the known numbers has four digits.
function digitsOf(values) {
  const known = values.filter((value) => value !== null);
  const span = known.reduce((a, b) => Math.max(a, b), -Infinity) - known.reduce((a, b) => Math.min(a, b), Infinity);
  return span > 0 ? Math.min(Math.max(3 - Math.floor(Math.log10(span)), 0), 12) : 2;
}

const several = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

function duration(seconds) {
  if (seconds < 90) return several(Math.max(1, Math.round(seconds)), "second");
  return several(Math.round(seconds / 60), "minute");
}
