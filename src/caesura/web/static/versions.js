// The fills of a gap side by side: a small picture of each, which chooses it, and a button that plays it.
import { element } from "./elements.js";
import { mix, palette } from "./palette.js";
import { sized } from "./roll.js";

const HEIGHT = 84;
const MARGIN = 12; // left and right of a picture together
const MUTED = 0.4;

export class Versions {
  // `choose(number)` and `play(number)` are called for a version.
  constructor(list, { choose, play }) {
    Object.assign(this, { list, choose, play, content: [], bars: [] });
    new ResizeObserver(() => this.draw()).observe(list);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  // `content`: for each version its number, name, words, notes, and whether it is shown; `span` says which
  // steps the pictures have, and `bars` where bars begin.
  show(content, span, bars) {
    const buttons = () => [...this.list.querySelectorAll("button")];
    const focused = buttons().indexOf(document.activeElement);
    Object.assign(this, { content, span, bars });
    this.list.replaceChildren(...content.map((version) => this.card(version)));
    buttons()[focused]?.focus();
    this.draw();
  }

  card({ number, name, told, isShown }) {
    const choose = element(
      "button",
      { type: "button", className: "choose" },
      element("canvas"),
      element("span", { className: "sign", text: name }),
      element("span", { className: "told", text: told }),
    );
    choose.setAttribute("aria-pressed", isShown);
    choose.addEventListener("click", () => this.choose(number));
    const play = element("button", { type: "button", className: "play", text: "▶", label: `Play ${name}` });
    play.addEventListener("click", () => this.play(number));
    play.dataset.number = number;
    return element("li", {}, choose, play);
  }

  // Show which version plays, if any.
  mark(playing) {
    for (const button of this.list.querySelectorAll(".play")) {
      button.textContent = Number(button.dataset.number) === playing ? "■" : "▶";
    }
  }

  draw() {
    const colour = palette();
    const keys = this.content.flatMap(({ notes }) => notes.filter((note) => this.sees(note)).map(({ key }) => key));
    const [low, high] = keys.length ? [Math.min(...keys) - 1, Math.max(...keys) + 1] : [48, 72];
    this.list.querySelectorAll("canvas").forEach((canvas, n) => {
      const width = canvas.parentElement.clientWidth - MARGIN;
      const pen = sized(canvas, width, HEIGHT);
      const [first, stop] = this.span;
      const [wide, row] = [width / (stop - first), HEIGHT / (high - low + 1)];
      const x = (step) => (step - first) * wide;
      pen.fillStyle = colour.card;
      pen.fillRect(0, 0, width, HEIGHT);
      pen.fillStyle = colour.line;
      for (const bar of this.bars) pen.fillRect(x(bar), 0, 1, HEIGHT);
      for (const note of this.content[n].notes) {
        if (!this.sees(note)) continue;
        const own = colour.part(note.part);
        pen.fillStyle = note.fresh || note.pinned ? own : mix(colour.card, own, MUTED);
        pen.fillRect(x(note.first), (high - note.key) * row, (note.stop - note.first) * wide - 1, Math.max(row - 0.5, 2));
      }
    });
  }

  sees({ first, stop }) {
    return stop > this.span[0] && first < this.span[1];
  }
}
