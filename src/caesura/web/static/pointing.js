// Dragging over the piano roll: what is under the pointer, and the box that is drawn with it.
import { KEYS, LOWEST } from "./mask.js";

export const ALL_KEYS = { lowest: LOWEST, highest: LOWEST + KEYS - 1 };

const tool = () => document.querySelector("input[name=tool]:checked").value;

// `pointed(place)` is called with the step and key under the pointer, or null; `clicked(place)` says whether
// a click there was for something else; `dragged(box, missing)` is called at the end.
export function onDrag(roll, { pointed, clicked, dragged }) {
  const { canvas } = roll;
  let drag = null;
  const selected = () => {
    const [a, b] = [drag.from, drag.to];
    const steps = { first: Math.min(a.step, b.step), stop: Math.max(a.step, b.step) + 1 };
    if (tool() === "span") return { ...steps, ...ALL_KEYS };
    const [lowest, highest] = [Math.min(a.key, b.key), Math.max(a.key, b.key)];
    // A box that reaches the edge of the drawing reaches the end of the keyboard.
    return {
      ...steps,
      lowest: lowest === roll.lowest ? ALL_KEYS.lowest : lowest,
      highest: highest === roll.highest ? ALL_KEYS.highest : highest,
    };
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (!roll.content || event.button !== 0 || tool() === "move") return;
    canvas.setPointerCapture(event.pointerId);
    drag = { from: roll.at(event), to: roll.at(event) };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!roll.content) return;
    pointed(roll.at(event));
    if (!drag) return;
    drag.to = roll.at(event);
    roll.selection = selected();
    roll.draw();
  });
  canvas.addEventListener("pointerleave", () => pointed(null));
  canvas.addEventListener("pointerup", (event) => {
    if (!drag) return;
    const { from } = drag;
    const box = selected();
    drag = roll.selection = null;
    const isClick = box.stop - box.first === 1 && roll.at(event).key === from.key;
    if (!isClick || !clicked(from)) dragged(box, tool() !== "back");
  });
  canvas.addEventListener("pointercancel", () => {
    drag = roll.selection = null;
    roll.draw();
  });
  for (const input of document.querySelectorAll("input[name=tool]")) {
    input.addEventListener("change", () => canvas.classList.toggle("moves", tool() === "move"));
  }
}
