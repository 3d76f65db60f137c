// Marks on an axis: round numbers, or round moments.

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const SECONDS = [1, 5, 15, 30, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY];
const MONTHS = [1, 3, 6, 12, 24, 60, 120, 240, 600, 1200];
const MONTH = 30.4 * DAY;

// About `count` round numbers from `low` to `high`.
export function numberTicks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const ticks = [];
  for (let n = Math.ceil(low / step); n * step <= high; n++) ticks.push(n * step);
  return ticks;
}

// The same for moments, in seconds since 1970: each with the words that stand at it.
export function timeTicks(low, high, count) {
  const rough = (high - low) / count;
  const seconds = SECONDS.find((step) => step >= rough);
  if (seconds) {
    const ticks = [];
    for (let at = Math.ceil(low / seconds) * seconds; at <= high; at += seconds) {
      const midnight = at % DAY === 0;
      ticks.push([at, midnight ? day(at) : clock(at, seconds < MINUTE)]);
    }
    return ticks;
  }
  const months = MONTHS.find((step) => step * MONTH >= rough) ?? MONTHS.at(-1);
  const first = new Date(low * 1000);
  const ticks = [];
  for (let n = Math.floor((first.getUTCFullYear() * 12 + first.getUTCMonth()) / months) * months; ; n += months) {
    const at = moment(n);
    if (at > high) return ticks;
    if (at >= low) ticks.push([at, months % 12 && n % 12 ? month(at) : String(n / 12)]);
  }
}

// How a moment is written; without the clock where it is always midnight.
export const written = (at, daily) => (daily ? iso(at).slice(0, 10) : iso(at).slice(0, 16).replace("T", " "));

export const isDaily = (moments) => moments.every((at) => at % DAY === 0);

function moment(months) {
  const date = new Date(0);
  date.setUTCFullYear(Math.floor(months / 12), ((months % 12) + 12) % 12, 1);
  return date.getTime() / 1000;
}

const iso = (at) => new Date(at * 1000).toISOString();
const part = (at, options) => new Date(at * 1000).toLocaleDateString("en-GB", { timeZone: "UTC", ...options });
const day = (at) => part(at, { day: "numeric", month: "short" });
const month = (at) => part(at, { month: "short" });
const clock = (at, exact) => iso(at).slice(11, exact ? 19 : 16);
