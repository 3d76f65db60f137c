// One column of a table on a canvas: what is known, where the gaps are, and what fills them.
import { numberTicks, timeTicks } from "./ticks.js";

const RIGHT = 12;
const TOP = 10;
const BOTTOM = 24; // for the times
const ROOMY = 7; // pixels from point to point, from which on points are drawn as such
const COLOURS = ["soft", "line", "gap", "edge", "accent", "band", "band-soft", "path", "series"];

export class Chart {
  // `gaps` are runs of rows. To be set before it draws: `range`, what is in sight; `filled`, the
  // column in the answer, with the `places` of its rows; `row`, the one that is looked at.
  constructor(canvas, { x, isTime, values, gaps }) {
    Object.assign(this, { canvas, x, isTime, values, gaps, filled: null, range: null, row: null, selection: null });
    this.left = 0; // where the numbers of the axis end
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  // The place on the x axis under a pointer.
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const part = (event.clientX - box.left - this.left) / (box.width - this.left - RIGHT);
    const [low, high] = this.range;
    return low + Math.min(Math.max(part, 0), 1) * (high - low);
  }

  draw() {
    const { canvas } = this;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width || !this.range) return;
    const ratio = devicePixelRatio;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(document.documentElement);
    const colour = Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    const [from, to] = this.rows();
    const [low, high] = this.extent(from, to);
    const [begin, end] = this.range;
    pen.font = "11px system-ui, sans-serif";
    const ticks = labelled(low, high, Math.max(2, Math.floor((height - TOP - BOTTOM) / 38)));
    this.left = Math.max(...ticks.map(([, words]) => pen.measureText(words).width)) + 12;
    const px = (x) => this.left + ((x - begin) / (end - begin)) * (width - this.left - RIGHT);
    const py = (y) => TOP + ((high - y) / (high - low)) * (height - TOP - BOTTOM);
    pen.save();
    pen.beginPath();
    pen.rect(this.left, 0, width - this.left - RIGHT, height);
    pen.clip();
    this.drawGaps(pen, colour, { px, height, from, to });
    pen.restore();
    this.drawAxes(pen, colour, { px, py, ticks, width, height });
    pen.save();
    pen.beginPath();
    pen.rect(this.left, 0, width - this.left - RIGHT + 5, height - BOTTOM + 1);
    pen.clip();
    if (this.filled) this.drawFills(pen, colour, { px, py, from, to });
    this.drawKnown(pen, colour, { px, py, from, to });
    this.drawCursor(pen, colour, { px, py, height });
    pen.restore();
  }

  // The rows in sight, and one more on either side.
  rows() {
    const [begin, end] = this.range;
    const from = this.x.findIndex((x) => x >= begin);
    const to = this.x.findLastIndex((x) => x <= end);
    return [Math.max(from - 1, 0), Math.min(to + 2, this.x.length)];
  }

  // The least and the most of what is in sight, with some room.
  extent(from, to) {
    let [low, high] = [Infinity, -Infinity];
    const take = (y) => {
      if (y === null) return;
      low = Math.min(low, y);
      high = Math.max(high, y);
    };
    for (let row = from; row < to; row++) take(this.values[row]);
    this.filled?.rows.forEach((row, n) => {
      if (row < from || row >= to) return;
      for (const numbers of [...this.filled.quantiles, ...this.filled.samples]) take(numbers[n]);
    });
    if (low > high) [low, high] = [0, 1]; // nothing is known here
    const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
    return [low - room, high + room];
  }

  drawAxes(pen, colour, { px, py, ticks, width, height }) {
    const inside = width - this.left - RIGHT;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (const [tick, words] of ticks) {
      pen.fillStyle = colour.line;
      pen.fillRect(this.left, Math.round(py(tick)), inside, 1);
      pen.fillStyle = colour.soft;
      pen.fillText(words, this.left - 7, py(tick));
    }
    const count = Math.max(2, Math.floor(inside / (width < 600 ? 60 : 90)));
    const marks = this.isTime
      ? timeTicks(...this.range, count)
      : numberTicks(...this.range, count).map((at) => [at, at.toLocaleString("en")]);
    pen.textAlign = "center";
    for (const [at, words] of marks) {
      pen.fillStyle = colour.edge;
      pen.fillRect(Math.round(px(at)), height - BOTTOM, 1, 4);
      const half = pen.measureText(words).width / 2;
      if (px(at) + half > width || px(at) - half < 0) continue;
      pen.fillStyle = colour.soft;
      pen.fillText(words, px(at), height - BOTTOM / 2 + 3);
    }
    pen.fillStyle = colour.edge;
    pen.fillRect(this.left, height - BOTTOM, inside, 1);
  }

  drawGaps(pen, colour, { px, height, from, to }) {
    const last = this.x.length - 1;
    pen.fillStyle = colour.gap;
    for (const [first, stop] of this.gaps) {
      if (stop < from || first > to) continue;
      const left = px(this.x[Math.max(first - 1, 0)]);
      const right = px(this.x[Math.min(stop, last)]);
      pen.fillRect(left, TOP, Math.max(right - left, 2), height - TOP - BOTTOM);
    }
  }

  drawFills(pen, colour, { px, py, from, to }) {
    const { places, quantiles, samples } = this.filled;
    const [lowest, low, median, high, highest] = quantiles;
    for (const [first, stop] of this.gaps) {
      if (stop < from || first > to) continue;
      // From the last known point to the next, where there are such.
      const edge = (row) => (this.values[row] === undefined ? [] : [[px(this.x[row]), py(this.values[row])]]);
      const path = (numbers) => {
        const inner = [];
        for (let row = first; row < stop; row++) inner.push([px(this.x[row]), py(numbers[places.get(row)])]);
        return [...edge(first - 1), ...inner, ...edge(stop)];
      };
      const area = (one, other, style) => {
        pen.fillStyle = style;
        trace(pen, [...path(one), ...path(other).reverse()]);
        pen.fill();
      };
      const line = (numbers, style, thickness) => {
        pen.strokeStyle = style;
        pen.lineWidth = thickness;
        trace(pen, path(numbers));
        pen.stroke();
      };
      area(lowest, highest, colour["band-soft"]);
      area(low, high, colour.band);
      for (const sample of samples) line(sample, colour.path, 1);
      line(median, colour.accent, 2.2);
      if (stop - first === 1 && this.spacing(px) >= 3) dot(pen, px(this.x[first]), py(median[places.get(first)]), 2.5, colour.accent);
    }
  }

  drawKnown(pen, colour, { px, py, from, to }) {
    pen.strokeStyle = colour.series;
    pen.lineWidth = 1.4;
    pen.lineJoin = "round";
    pen.beginPath();
    let drawn = false;
    for (let row = from; row < to; row++) {
      const y = this.values[row];
      if (y === null) drawn = false;
      else if (drawn) pen.lineTo(px(this.x[row]), py(y));
      else pen.moveTo(px(this.x[row]), py(y));
      drawn = y !== null;
    }
    pen.stroke();
    const roomy = this.spacing(px) >= ROOMY;
    for (let row = from; row < to; row++) {
      const alone = (this.values[row - 1] ?? null) === null && (this.values[row + 1] ?? null) === null;
      if (this.values[row] !== null && (roomy || alone)) dot(pen, px(this.x[row]), py(this.values[row]), roomy ? 2.4 : 1.2, colour.series);
    }
  }

  drawCursor(pen, colour, { px, py, height }) {
    if (this.selection) {
      const [a, b] = this.selection.map(px);
      pen.strokeStyle = colour.accent;
      pen.lineWidth = 1.5;
      pen.setLineDash([5, 3]);
      pen.strokeRect(a, TOP, b - a, height - TOP - BOTTOM);
      pen.setLineDash([]);
    }
    if (this.row === null) return;
    const x = px(this.x[this.row]);
    pen.fillStyle = colour.edge;
    pen.fillRect(Math.round(x), TOP, 1, height - TOP - BOTTOM);
    const n = this.filled?.places.get(this.row);
    const y = this.values[this.row] ?? this.filled?.quantiles[2][n];
    if (y !== undefined) dot(pen, x, py(y), 4, n === undefined ? colour.series : colour.accent);
  }

  // Pixels from row to row, on average.
  spacing(px) {
    return (px(this.x.at(-1)) - px(this.x[0])) / Math.max(this.x.length - 1, 1);
  }
}

// Round numbers, with as many digits as tell them apart.
function labelled(low, high, count) {
  const ticks = numberTicks(low, high, count);
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : high - low;
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const most = Math.max(...ticks.map(Math.abs));
  const plain = most < 1e6 && digits < 5;
  return ticks.map((tick) => [tick, plain ? tick.toFixed(digits) : tick.toExponential(2)]);
}

function trace(pen, points) {
  pen.beginPath();
  for (const [x, y] of points) pen.lineTo(x, y);
}

function dot(pen, x, y, radius, style) {
  pen.fillStyle = style;
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fill();
}
