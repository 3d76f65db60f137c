// Files that come in by a button or by being dropped, and go out as downloads.
import { element } from "./elements.js";

// `open(file)` is called for a file from anywhere in the view; `card` shows that one may be dropped.
export function onFile({ view, card, button, input }, open) {
  button.addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    if (input.files[0]) open(input.files[0]);
    input.value = ""; // so that the same file can be opened again
  });
  view.addEventListener("dragover", (event) => {
    event.preventDefault();
    card.classList.add("dropping");
  });
  view.addEventListener("dragleave", (event) => {
    if (!view.contains(event.relatedTarget)) card.classList.remove("dropping");
  });
  view.addEventListener("drop", (event) => {
    event.preventDefault();
    card.classList.remove("dropping");
    if (event.dataTransfer.files[0]) open(event.dataTransfer.files[0]);
  });
}

export function download(name, content, type) {
  const link = element("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
