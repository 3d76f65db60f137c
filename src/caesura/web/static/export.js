// Downloads of a restored text; what stands outside the lacunae is as the user wrote it.
import { ask } from "./api.js";
import { download } from "./files.js";

const FILES = {
  leiden: { suffix: ".txt", type: "text/plain" },
  plain: { suffix: ".plain.txt", type: "text/plain" },
  epidoc: { suffix: ".xml", type: "application/xml" },
};
const READINGS = 20; // that are written beside the one that stands in the text

// `source` says which text and how it is read; `readings` has what stands in each lacuna.
export async function exportText(format, name, source, readings, others) {
  const parts = readings
    .filter(({ part }) => part)
    .map(({ number, part, candidates }) => ({
      gap: number,
      part,
      readings: candidates.filter((one) => one.part).slice(0, READINGS),
    }));
  const { content } = await ask("/api/edition", { ...source, format, parts, others });
  download(`${name}-restored${FILES[format].suffix}`, content, `${FILES[format].type};charset=utf-8`);
}

export function exportJson(name, source, accepted, answer) {
  const content = JSON.stringify({ ...source, accepted, fill: answer }, null, 1);
  download(`${name}-restored.json`, content, "application/json");
}
