// The card of one lacuna: what could stand there, how long it is, and one's own questions.
import { bar, percent } from "./elements.js";
import { lengthOf } from "./leaf.js";
import { drawLengths } from "./lengths.js";

const SHOWN = 8; // readings
const GUESS = 0.1; // of the probability: readings that have less are little more than guesses
const $ = (id) => document.getElementById(id);

export class LacunaCard {
  // `on` has what happens when a reading is accepted, freed or weighed, and a pattern is applied.
  constructor(on) {
    this.on = on;
    this.state = {};
    this.all = false;
    $("lacuna-free").addEventListener("click", () => on.free());
    $("lacuna-more").addEventListener("click", () => {
      this.all = true;
      this.draw(this.state);
      $("lacuna-list").querySelectorAll("button")[SHOWN]?.focus();
    });
    $("own-form").addEventListener("submit", (event) => {
      event.preventDefault();
      if ($("own-reading").value.trim()) on.weigh($("own-reading").value);
    });
    $("own-accept").addEventListener("click", () => {
      if ($("own-reading").value.trim()) on.accept($("own-reading").value);
    });
    $("pattern-form").addEventListener("submit", (event) => {
      event.preventDefault();
      on.constrain($("pattern").value);
    });
    $("pattern-remove").addEventListener("click", () => {
      $("pattern").value = "";
      on.constrain("");
    });
    $("lacuna-card").addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.isComposing) on.back();
    });
  }

  focus() {
    ($("lacuna-list").querySelector("button") ?? $("own-reading")).focus();
  }

  draw(state) {
    const { number, count, accepted, found, pattern } = state;
    if (number !== this.state.number) {
      this.all = false;
      $("own-reading").value = "";
      $("pattern").value = pattern; // never while something is typed into it
    }
    this.state = state;
    const isOpen = number !== null && accepted === undefined;
    $("lacuna-title").textContent = number === null ? "One lacuna" : `Lacuna ${number + 1} of ${count}`;
    $("lacuna-hint").textContent = this.hint();
    $("lacuna-free").hidden = number === null || isOpen;
    $("lacuna-questions").hidden = !isOpen;
    const known = found?.candidates ?? [];
    const shown = this.all ? known : known.slice(0, SHOWN);
    $("lacuna-more").hidden = shown.length === known.length;
    $("lacuna-more").textContent = `All ${known.length} readings`;
    this.rows("lacuna-list", shown, found?.part, ({ probability }) => percent(probability));
    this.rows("own-list", found?.asked ?? [], "", ({ probability, rank }) => `${percent(probability)}, rank ${rank}`);
    drawLengths($("lacuna-lengths"), found?.lengths ?? {}, "letters");
    $("pattern-remove").hidden = !pattern;
    const matching = found?.matching;
    $("pattern-hint").textContent =
      pattern && matching !== null && matching !== undefined
        ? `Without it, ${percent(matching)} would match. All probabilities are given that it matches.`
        : "A regular expression over the letters.";
  }

  rows(id, readings, pressed, told) {
    $(id).replaceChildren(
      ...readings.map((one) =>
        bar(one.part.trim(), told(one), one.probability, {
          pressed: one.part === pressed,
          choose: () => this.on.accept(one.part),
        }),
      ),
    );
  }

  hint() {
    const { number, gap, accepted, found } = this.state;
    if (number === null) return "Click on a box to see what could stand in it.";
    if (accepted !== undefined) return `You have accepted “${accepted.trim()}” here.`;
    const lost = gap.stated ? `Letters lost: ${lengthOf(gap)}.` : "It is unknown how many letters are lost.";
    if (!found) return `${lost} Fill the text to see what could stand here.`;
    const { candidates, covered } = found;
    const guess = covered < GUESS ? "Little more than a guess: " : "";
    return `${lost} ${guess}${candidates.length} readings have ${percent(covered)} together. Click on one to accept it.`;
  }
}
