// What a composer wants in a gap: which part is filled, what is kept, and what must or must not sound.
import { element } from "./elements.js";
import { variable } from "./palette.js";

// `part` counts from 1; 0 stands for all parts, and the number after the last for a new one with these keys.
export const NO_WISHES = { part: 0, keys: "C2-B3", top: false, bottom: false, force: "", forbid: "" };

const pitches = (text) => text.replaceAll("♯", "#").replaceAll("♭", "b").split(/[\s,;]+/).filter(Boolean);

// As the server wants them, for a song of so many parts; null if there is none.
export function asked({ part, keys, top, bottom, force, forbid }, parts) {
  const keep = [...(top ? ["top"] : []), ...(bottom ? ["bottom"] : [])];
  const wishes = { keep, force: pitches(force), forbid: pitches(forbid) };
  if (!part && !Object.values(wishes).some((list) => list.length)) return null;
  if (part > parts) return { ...wishes, add: pitches(keys).join("") || NO_WISHES.keys };
  return part ? { ...wishes, voice: String(part) } : wishes;
}

export class Wishes {
  // `changed(wishes)` is called with all wishes when one has changed.
  constructor({ parts, boxes, fields }, changed) {
    Object.assign(this, { parts, boxes, fields, changed, state: NO_WISHES });
    for (const [name, box] of Object.entries(boxes)) {
      box.addEventListener("change", () => this.change({ [name]: box.checked }));
    }
    for (const [name, field] of Object.entries(fields)) {
      field.addEventListener("change", () => this.change({ [name]: field.value.trim() }));
    }
  }

  change(some) {
    this.state = { ...this.state, ...some };
    this.changed(this.state);
  }

  show(state, names) {
    this.state = state;
    for (const [name, box] of Object.entries(this.boxes)) box.checked = state[name];
    for (const [name, field] of Object.entries(this.fields)) field.value = state[name];
    if (this.names !== names) this.offer(names);
    for (const input of this.parts.querySelectorAll("input")) input.checked = Number(input.value) === state.part;
    this.fields.keys.parentElement.hidden = state.part <= names.length;
  }

  // The parts with their colours, of which one can be chosen.
  offer(names) {
    this.names = names;
    this.parts.hidden = !names.length;
    const choices = ["All parts", ...names, "New part"].map((name, part) => {
      const input = element("input", { type: "radio", name: "part", value: part });
      input.addEventListener("change", () => this.change({ part }));
      const shown = element("span", { text: name });
      if (part) {
        const swatch = element("i", { className: "swatch" });
        swatch.style.setProperty("background", variable(part));
        shown.prepend(swatch);
      }
      return element("label", {}, input, shown);
    });
    this.parts.replaceChildren(element("legend", { text: "Fill" }), ...choices);
  }
}
