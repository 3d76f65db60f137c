// A damaged text as it runs, with a box for each of its lacunae.
import { element, roughly } from "./elements.js";
import { smallLengths } from "./lengths.js";

// How many letters are lost, as editors say it.
export function lengthOf({ shortest, longest, stated }) {
  if (!stated) return "?";
  return shortest === longest ? `${longest}` : `${shortest}–${longest}`;
}

function spokenLength(gap) {
  if (!gap.stated) return "an unknown number of letters";
  return gap.longest === 1 ? "1 letter" : `${lengthOf(gap)} letters`;
}

// The letters of a reading, each as sure as it is; blanks between words are no steps of some models.
function letters(part, shades) {
  const characters = [...part];
  const skips = characters.length > shades.length;
  let step = 0;
  return characters.map((character) => {
    const span = element("span", { text: character });
    const blank = skips && character === " ";
    span.style.setProperty("--p", shades[blank ? step : step++] ?? 0);
    return span;
  });
}

export class Leaf {
  // `on` has what happens when a lacuna is looked at, opened or freed, each with its number.
  constructor(sheet, on) {
    this.sheet = sheet;
    this.on = on;
    sheet.addEventListener("click", (event) => {
      const number = this.numberOf(event.target);
      if (number !== null) on.open(number);
    });
    sheet.addEventListener("keydown", (event) => this.key(event));
  }

  numberOf(target) {
    const box = target.closest?.("[data-n]");
    return box ? Number(box.dataset.n) : null;
  }

  box(number) {
    return this.sheet.querySelector(`[role=button][data-n="${number}"]`);
  }

  // `pieces` and `gaps` are the server's; `accepted` and `found` have readings by number.
  draw({ pieces, gaps }, accepted, found, chosen) {
    const focused = this.sheet.contains(document.activeElement);
    this.sheet.replaceChildren(
      ...pieces.map((piece) => {
        if (piece.text !== undefined) return element("span", { text: piece.text });
        if (piece.further) return this.further(piece.gap);
        return this.lacuna(piece.gap, gaps, accepted[piece.gap], found[piece.gap]);
      }),
    );
    this.choose(chosen);
    if (focused) (this.box(chosen) ?? this.sheet.querySelector("[role=button]"))?.focus();
  }

  // No <button>: lines would break inside a word, before and after it.
  lacuna(number, gaps, accepted, found) {
    const box = element("span", { role: "button", tabIndex: -1 });
    box.dataset.n = number;
    box.setAttribute("aria-controls", "lacuna-card");
    const which = `lacuna ${number + 1} of ${gaps.length}`;
    if (accepted !== undefined) {
      box.className = "pinned";
      box.textContent = accepted;
      box.setAttribute("aria-label", `${accepted}, accepted by you, ${which}`);
    } else if (found) {
      box.className = "filled";
      box.dataset.told = roughly(found.probability);
      box.append(...letters(found.part, found.shades), ...smallLengths(found.lengths));
      box.setAttribute("aria-label", `${found.part}, ${roughly(found.probability)}, ${which}`);
    } else {
      box.className = "empty count";
      box.textContent = lengthOf(gaps[number]);
      box.setAttribute("aria-label", `${spokenLength(gaps[number])} lost, ${which}`);
    }
    return box;
  }

  // Where a lacuna goes on, after a line end or a sign.
  further(number) {
    const box = element("span", { className: "further", text: "⋯", title: `Lacuna ${number + 1} goes on here` });
    box.dataset.n = number;
    return box;
  }

  choose(chosen) {
    for (const box of this.sheet.querySelectorAll("[role=button]")) {
      const here = Number(box.dataset.n) === chosen;
      box.classList.toggle("selected", here);
      box.setAttribute("aria-expanded", here);
      box.tabIndex = here ? 0 : -1;
    }
    // One stop for Tab; the arrow keys go on from there.
    const entry = this.box(chosen) ?? this.sheet.querySelector("[role=button]");
    if (entry) entry.tabIndex = 0;
  }

  key(event) {
    const number = this.numberOf(event.target);
    if (number === null || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const boxes = [...this.sheet.querySelectorAll("[role=button]")];
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) {
      const next = boxes[(boxes.indexOf(this.box(number)) + step + boxes.length) % boxes.length];
      this.on.look(Number(next.dataset.n));
      next.focus();
    } else if (event.key === "Enter" || event.key === " ") {
      this.on.open(number, true);
    } else if (event.key === "Backspace" || event.key === "Delete") {
      this.on.free(number);
    } else {
      return;
    }
    event.preventDefault();
  }
}
