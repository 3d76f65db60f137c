// The piano roll on a canvas: only what is in sight is drawn, however long the song.
import { KEYS, LOWEST } from "./mask.js";

const GUTTER = 40; // the keyboard
const TOP = 20; // the numbers of the bars
const ROW = 9;
const FEWEST_KEYS = 34;
const BLACK = new Set([1, 3, 6, 8, 10]);
const NAMES = ["C", "C♯", "D", "D♯", "E", "F", "F♯", "G", "G♯", "A", "B♭", "B"];
const FAINT = 0.03; // what is less probable could not be seen

export const keyName = (key) => `${NAMES[key % 12]}${Math.floor(key / 12) - 1}`;

export class Roll {
  constructor(canvas, scroller, spacer) {
    Object.assign(this, { canvas, scroller, spacer, cursor: null, selection: null, content: null });
    this.step = innerWidth < 600 ? 11 : 14;
    scroller.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(scroller);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  // `content`: steps, bars, notes, mask, expected(step, key) and pinned.
  show(content) {
    this.content = content;
    const keys = content.sounding;
    const low = keys.length ? Math.min(...keys) : 48;
    const high = keys.length ? Math.max(...keys) : 72;
    const more = Math.max(FEWEST_KEYS - (high - low + 1), 8);
    this.lowest = Math.max(LOWEST, low - Math.ceil(more / 2));
    this.highest = Math.min(LOWEST + KEYS - 1, high + Math.floor(more / 2));
    this.draw();
  }

  // The step and the key under a pointer.
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left - GUTTER + this.scroller.scrollLeft;
    const y = event.clientY - box.top - TOP;
    const step = Math.floor(x / this.step);
    const key = this.highest - Math.floor(y / ROW);
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
    const height = TOP + (this.highest - this.lowest + 1) * ROW;
    this.spacer.style.width = `${GUTTER + content.steps * this.step + 12}px`;
    const ratio = devicePixelRatio;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(document.documentElement);
    const colour = Object.fromEntries(
      ["card", "ink", "soft", "line", "edge", "sure", "unsure", "note", "gap", "accent", "pin", "pin-soft", "black-key"].map(
        (name) => [name, style.getPropertyValue(`--${name}`).trim()],
      ),
    );
    pen.fillStyle = colour.card;
    pen.fillRect(0, 0, width, height);
    pen.save();
    pen.beginPath();
    pen.rect(GUTTER, 0, width - GUTTER, height);
    pen.clip();
    this.drawSteps(pen, colour, width, height);
    pen.restore();
    this.drawKeyboard(pen, colour, height);
  }

  drawSteps(pen, colour, width, height) {
    const { steps, bars, notes, mask, expected, pinned } = this.content;
    const left = this.scroller.scrollLeft;
    const x = (step) => GUTTER + step * this.step - left;
    const y = (key) => TOP + (this.highest - key) * ROW;
    const from = Math.max(Math.floor((left - GUTTER) / this.step), 0);
    const to = Math.min(Math.ceil((left + width) / this.step), steps);
    for (let key = this.lowest; key <= this.highest; key++) {
      if (BLACK.has(key % 12)) {
        pen.fillStyle = colour["black-key"];
        pen.fillRect(x(0), y(key), x(steps) - x(0), ROW);
      }
      pen.fillStyle = colour.gap;
      for (const [first, stop] of mask.runs(key, from, to)) {
        pen.fillRect(x(first), y(key), (stop - first) * this.step, ROW);
      }
    }
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    let clear = -Infinity;
    bars.forEach((bar, n) => {
      pen.fillStyle = colour.line;
      pen.fillRect(x(bar), TOP, 1, height - TOP);
      if (x(bar) < clear) return;
      pen.fillStyle = colour.soft;
      pen.fillText(String(n + 1), x(bar) + 3, TOP / 2);
      clear = x(bar) + 26;
    });
    pen.fillStyle = colour.line;
    pen.fillRect(x(0), TOP - 1, x(steps) - x(0), 1);
    const box = (key, first, stop) => {
      pen.beginPath();
      pen.roundRect(x(first) + 0.5, y(key) + 0.5, (stop - first) * this.step - 1, ROW - 1, 2);
    };
    for (const note of notes) {
      if (note.stop <= from || note.first >= to) continue;
      if (!note.fresh) {
        pen.fillStyle = colour.note;
        box(note.key, note.first, note.stop);
        pen.fill();
        continue;
      }
      for (let step = note.first; step < note.stop; step++) {
        pen.fillStyle = mix(colour.unsure, colour.sure, Math.max(expected(step, note.key), FAINT));
        pen.fillRect(x(step) + (step === note.first ? 0.5 : 0), y(note.key) + 0.5, this.step - (step === note.stop - 1 ? 1 : 0), ROW - 1);
      }
      pen.strokeStyle = colour.ink;
      pen.lineWidth = 1;
      box(note.key, note.first, note.stop);
      pen.stroke();
    }
    for (const { key, first, stop } of pinned) {
      pen.fillStyle = colour["pin-soft"];
      pen.strokeStyle = colour.pin;
      pen.lineWidth = 2;
      box(key, first, stop);
      pen.fill();
      pen.stroke();
    }
    if (this.selection) {
      const { first, stop, lowest, highest } = this.selection;
      const top = y(Math.min(highest, this.highest));
      const bottom = y(Math.max(lowest, this.lowest)) + ROW;
      pen.strokeStyle = colour.accent;
      pen.lineWidth = 2;
      pen.setLineDash([5, 3]);
      pen.strokeRect(x(first) + 1, top + 1, (stop - first) * this.step - 2, bottom - top - 2);
      pen.setLineDash([]);
    }
    if (this.cursor !== null) {
      pen.fillStyle = colour.accent;
      pen.fillRect(x(this.cursor) - 1, 0, 2, height);
    }
  }

  drawKeyboard(pen, colour, height) {
    pen.fillStyle = colour.card;
    pen.fillRect(0, 0, GUTTER, height);
    pen.font = "10px system-ui, sans-serif";
    pen.textBaseline = "middle";
    for (let key = this.lowest; key <= this.highest; key++) {
      const y = TOP + (this.highest - key) * ROW;
      if (BLACK.has(key % 12)) {
        pen.fillStyle = colour.edge;
        pen.fillRect(GUTTER - 17, y + 1, 16, ROW - 2);
      } else if (key % 12 === 0) {
        pen.fillStyle = colour.soft;
        pen.fillText(keyName(key), 4, y + ROW / 2);
      }
      if ([0, 5].includes(key % 12)) {
        pen.fillStyle = colour.line;
        pen.fillRect(GUTTER - 17, y + ROW - 1, 17, 1);
      }
    }
    pen.fillStyle = colour.edge;
    pen.fillRect(GUTTER - 1, TOP, 1, height - TOP);
  }
}

// Between two colours that are written as #rrggbb.
function mix(from, to, part) {
  const parts = (c) => [1, 3, 5].map((at) => parseInt((c.length === 4 ? c.replace(/\w/g, "$&$&") : c).slice(at, at + 2), 16));
  const [a, b] = [parts(from), parts(to)];
  return `rgb(${a.map((value, n) => Math.round(value + (b[n] - value) * part)).join(" ")})`;
}
