// The new notes as a list of buttons, for who would rather read or use keys: each can be kept.
import { element, percent } from "./elements.js";
import { keyName } from "./notes.js";
import { variable } from "./palette.js";

// `notes` are new or `pinned`; `sure(step, key)` and `bar(step)` tell of them; `toggle(note)` is called for a click.
export function showChips(list, notes, { sure, bar, toggle }) {
  const buttons = () => [...list.querySelectorAll("button")];
  const focused = buttons().indexOf(document.activeElement);
  const ordered = notes.toSorted((a, b) => a.first - b.first || a.key - b.key); // so that none moves when it is kept
  list.replaceChildren(
    ...ordered.map((note) => {
      const p = mean(note, sure);
      const button = element("button", {
        type: "button",
        text: keyName(note.key),
        label: `${keyName(note.key)} in bar ${bar(note.first)}, ${note.pinned ? "kept" : `${percent(p)} sure`}`,
      });
      button.style.setProperty("--p", p);
      button.style.setProperty("--colour", variable(note.part));
      button.setAttribute("aria-pressed", Boolean(note.pinned));
      button.addEventListener("click", () => toggle(note));
      return element("li", {}, button);
    }),
  );
  buttons()[focused]?.focus();
}

function mean({ key, first, stop }, sure) {
  let sum = 0;
  for (let step = first; step < stop; step++) sum += sure(step, key);
  return sum / (stop - first);
}
