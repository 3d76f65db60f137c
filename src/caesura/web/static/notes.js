// Notes of a song, and what of them is new.
import { Mask } from "./mask.js";

const NAMES = ["C", "C♯", "D", "D♯", "E", "F", "F♯", "G", "G♯", "A", "B♭", "B"];

export const keyName = (key) => `${NAMES[key % 12]}${Math.floor(key / 12) - 1}`;

// As the server has them.
export const named = ([key, first, stop, velocity, part]) => ({ key, first, stop, velocity, part });

// Names for people: tracks may have none, and two may have the same.
export function partNames(names) {
  return names.map((name, n) => {
    if (!name) return `Part ${n + 1}`;
    const same = names.filter((other) => other === name);
    return same.length > 1 ? `${name} (${n + 1})` : name;
  });
}

// The notes, cut where what was filled begins and ends: each piece is `fresh` or not. A piece knows
// where its note began (`struck`), since a note may go on from before a gap.
export function cut(notes, left, pinned) {
  const pins = Mask.of(left.steps, pinned.map((pin) => ({ ...pin, lowest: pin.key, highest: pin.key })));
  return notes.flatMap((note) => {
    const pieces = [];
    for (let step = note.first; step < note.stop; step++) {
      const fresh = left.has(step, note.key);
      const isPinned = pins.has(step, note.key);
      const last = pieces.at(-1);
      if (last && last.fresh === fresh && last.pinned === isPinned) last.stop = step + 1;
      else pieces.push({ ...note, first: step, stop: step + 1, fresh, pinned: isPinned, struck: note.first });
    }
    return pieces;
  });
}

export const isSame = (a, b) => a.key === b.key && a.first === b.first && a.stop === b.stop;
