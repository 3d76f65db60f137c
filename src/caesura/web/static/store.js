// The state of a view, kept in the browser's local storage.

export function load(name) {
  try {
    return JSON.parse(localStorage.getItem(`caesura.${name}`));
  } catch {
    return null;
  }
}

// The most important part comes first: if there is no room for all, the last are left out.
export function save(name, parts) {
  for (let count = parts.length; count; count--) {
    try {
      const kept = Object.assign({}, ...parts.slice(0, count));
      localStorage.setItem(`caesura.${name}`, JSON.stringify(kept));
      return;
    } catch {
      continue;
    }
  }
}
