// The piano roll on a canvas: only what is in sight is drawn, however long the song.
import { KEYS, LOWEST } from "./mask.js";
import { keyName } from "./notes.js";
import { mix, palette } from "./palette.js";

const GUTTER = 48; // the keyboard
const TOP = 20; // the numbers of the bars
const HEIGHT = 500; // of the keys together, if they may be as high as is good to read
const FEWEST_KEYS = 30;
const BLACK = new Set([1, 3, 6, 8, 10]);
const FAINT = 0.12; // how much colour an improbable note has
const MUTED = 0.62; // and one of the song itself
const ASIDE = 0.34; // and one of a part that is not to be filled
const isNarrow = () => innerWidth < 600;

export class Roll {
  constructor(canvas, scroller, spacer) {
    Object.assign(this, { canvas, scroller, spacer, cursor: null, selection: null, content: null });
    scroller.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(scroller);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  // `content`: steps, perBeat, bars, beats, firstBar, notes, left, expected(step, key), pinned, sounding
  // and the only part to be filled, or 0.
  show(content) {
    this.content = content;
    const [width, least] = isNarrow() ? [26, 5] : [34, 7];
    this.step = Math.max(Math.round(width / content.perBeat), least);
    const keys = content.sounding;
    const low = keys.length ? Math.min(...keys) : 48;
    const high = keys.length ? Math.max(...keys) : 72;
    const more = Math.max(FEWEST_KEYS - (high - low + 1), 8);
    this.lowest = Math.max(LOWEST, low - Math.ceil(more / 2));
    this.highest = Math.min(LOWEST + KEYS - 1, high + Math.floor(more / 2));
    const row = Math.floor(HEIGHT / (this.highest - this.lowest + 1));
    this.row = Math.min(Math.max(row, 8), isNarrow() ? 10 : 13);
    this.draw();
  }

  // The step and the key under a pointer.
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left - GUTTER + this.scroller.scrollLeft;
    const y = event.clientY - box.top - TOP;
    const step = Math.floor(x / this.step);
    const key = this.highest - Math.floor(y / this.row);
    return {
      step: Math.min(Math.max(step, 0), this.content.steps - 1),
      key: Math.min(Math.max(key, this.lowest), this.highest),
    };
  }

  // Bring a step into sight; `anywhere` in it is enough while music plays.
  reveal(step, { anywhere = false } = {}) {
    const inside = this.scroller.clientWidth - GUTTER;
    const x = step * this.step - this.scroller.scrollLeft;
    if (anywhere && x >= 0 && x <= inside * 0.9) return;
    this.scroller.scrollLeft = step * this.step - inside * (anywhere ? 0.1 : 0.3);
  }

  draw() {
    const { content, canvas } = this;
    if (!content || !this.scroller.clientWidth) return;
    const width = this.scroller.clientWidth;
    const height = TOP + (this.highest - this.lowest + 1) * this.row;
    this.spacer.style.width = `${GUTTER + content.steps * this.step + 12}px`;
    const pen = sized(canvas, width, height);
    const colour = palette();
    pen.fillStyle = colour.card;
    pen.fillRect(0, 0, width, height);
    pen.save();
    pen.beginPath();
    pen.rect(GUTTER, 0, width - GUTTER, height);
    pen.clip();
    this.drawGrid(pen, colour, width, height);
    this.drawNotes(pen, colour, width);
    this.drawMarks(pen, colour, height);
    pen.restore();
    this.drawKeyboard(pen, colour, height);
  }

  x(step) {
    return GUTTER + step * this.step - this.scroller.scrollLeft;
  }

  y(key) {
    return TOP + (this.highest - key) * this.row;
  }

  // The steps that are in sight.
  inSight(width) {
    const left = this.scroller.scrollLeft;
    const from = Math.max(Math.floor((left - GUTTER) / this.step), 0);
    return [from, Math.min(Math.ceil((left + width) / this.step), this.content.steps)];
  }

  drawGrid(pen, colour, width, height) {
    const { steps, bars, beats, firstBar, left } = this.content;
    const [from, to] = this.inSight(width);
    const isSeen = (step) => from <= step && step <= to;
    for (let key = this.lowest; key <= this.highest; key++) {
      if (BLACK.has(key % 12)) {
        pen.fillStyle = colour["black-key"];
        pen.fillRect(this.x(0), this.y(key), this.x(steps) - this.x(0), this.row);
      }
      pen.fillStyle = colour.gap;
      for (const [first, stop] of left.runs(key, from, to)) {
        pen.fillRect(this.x(first), this.y(key), (stop - first) * this.step, this.row);
      }
      if (key % 12 === 0) {
        pen.fillStyle = colour.line;
        pen.fillRect(this.x(0), this.y(key) + this.row - 1, this.x(steps) - this.x(0), 1);
      }
    }
    pen.fillStyle = colour.line;
    for (const beat of beats) if (isSeen(beat)) pen.fillRect(this.x(beat), TOP, 1, height - TOP);
    pen.font = "600 11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    let clear = -Infinity;
    bars.forEach((bar, n) => {
      pen.fillStyle = colour.edge;
      pen.fillRect(this.x(bar), TOP - 6, 1, height - TOP + 6);
      if (this.x(bar) < clear) return;
      pen.fillStyle = colour.soft;
      pen.fillText(String(firstBar + n), this.x(bar) + 4, TOP / 2);
      clear = this.x(bar) + 26;
    });
    pen.fillStyle = colour.edge;
    pen.fillRect(this.x(0), TOP - 1, this.x(steps) - this.x(0), 1);
  }

  drawNotes(pen, colour, width) {
    const { notes, expected, pinned, only } = this.content;
    const [from, to] = this.inSight(width);
    const box = ({ key, first, stop }) => {
      pen.beginPath();
      pen.roundRect(this.x(first) + 1, this.y(key) + 1, (stop - first) * this.step - 1.5, this.row - 2, 2);
    };
    for (const note of notes) {
      if (note.stop <= from || note.first >= to) continue;
      const own = colour.part(note.part);
      box(note);
      if (!note.fresh) {
        pen.fillStyle = mix(colour.card, own, only && only !== note.part ? ASIDE : MUTED);
        pen.fill();
        continue;
      }
      pen.save();
      pen.clip();
      for (let step = note.first; step < note.stop; step++) {
        pen.fillStyle = mix(colour.card, own, FAINT + (1 - FAINT) * expected(step, note.key));
        pen.fillRect(this.x(step), this.y(note.key), this.step, this.row);
      }
      pen.restore();
      pen.strokeStyle = colour.ink;
      pen.lineWidth = 1.25;
      pen.stroke();
    }
    for (const note of pinned) {
      pen.fillStyle = colour.part(note.part);
      pen.strokeStyle = colour.pin;
      pen.lineWidth = 2.5;
      box(note);
      pen.fill();
      pen.stroke();
    }
  }

  drawMarks(pen, colour, height) {
    if (this.selection) {
      const { first, stop, lowest, highest } = this.selection;
      const top = this.y(Math.min(highest, this.highest));
      const bottom = this.y(Math.max(lowest, this.lowest)) + this.row;
      pen.strokeStyle = colour.accent;
      pen.lineWidth = 2;
      pen.setLineDash([5, 3]);
      pen.strokeRect(this.x(first) + 1, top + 1, (stop - first) * this.step - 2, bottom - top - 2);
      pen.setLineDash([]);
    }
    if (this.cursor !== null) {
      pen.fillStyle = colour.accent;
      pen.fillRect(this.x(this.cursor) - 1, 0, 2, height);
    }
  }

  drawKeyboard(pen, colour, height) {
    pen.fillStyle = colour.card;
    pen.fillRect(0, 0, GUTTER, height);
    pen.textBaseline = "middle";
    for (let key = this.lowest; key <= this.highest; key++) {
      const y = this.y(key);
      if (BLACK.has(key % 12)) {
        pen.fillStyle = colour.edge;
        pen.fillRect(GUTTER - 19, y + 1, 13, this.row - 2);
      } else if (key % 12 === 0 || this.row > 10) {
        pen.font = key % 12 ? "9px system-ui, sans-serif" : "700 11px system-ui, sans-serif";
        pen.fillStyle = key % 12 ? colour.soft : colour.ink;
        pen.fillText(keyName(key), 5, y + this.row / 2 + 0.5);
      }
      if ([0, 5].includes(key % 12)) {
        pen.fillStyle = colour.line;
        pen.fillRect(GUTTER - 19, y + this.row - 1, 19, 1);
      }
    }
    pen.fillStyle = colour.edge;
    pen.fillRect(GUTTER - 1, TOP, 1, height - TOP);
  }
}

// The pen of a canvas that has this size on the screen.
export function sized(canvas, width, height) {
  const ratio = devicePixelRatio;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  return pen;
}
