// What a view remembers over a reload, on this machine alone.

export function load(name) {
  try {
    return JSON.parse(localStorage.getItem(`caesura.${name}`));
  } catch {
    return null;
  }
}

// `parts` from the one that matters most: where there is no room for all, the last are left out.
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
