// Files of songs: MIDI and MusicXML, as text that can be sent and kept, and as downloads.
import { download } from "./files.js";

const TYPES = {
  ".mid": "audio/midi",
  ".musicxml": "application/vnd.recordare.musicxml+xml",
  ".mxl": "application/vnd.recordare.musicxml",
};
const SUFFIX = /\.(midi?|musicxml|mxl|xml)$/i;

export async function encoded(file) {
  let text = "";
  for (const byte of new Uint8Array(await file.arrayBuffer())) text += String.fromCharCode(byte);
  return btoa(text);
}

// `addition` is put before the suffix, which is that of the file that was opened.
export function downloadSong(sequence, name, addition, suffix) {
  const bytes = Uint8Array.from(atob(sequence), (c) => c.charCodeAt(0));
  download(`${name.replace(SUFFIX, "")}${addition}${suffix}`, bytes, TYPES[suffix]);
}
