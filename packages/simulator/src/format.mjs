// Formats numbers and times for display.

const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const precise = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/** 12,345.67 */
export const number = (value) => (Number.isFinite(value) ? plain.format(value) : "–");

/** 12.3K, for axes. */
export const short = (value) => (Math.abs(value) < 10_000 ? number(value) : compact.format(value));

/** "1 refusal", "2 refusals" */
export const count = (value, one, many = `${one}s`) =>
  `${number(value)} ${value === 1 ? one : many}`;

/** "0 s", "120 ms", "1.5 s", "2 min 5 s", "16 h 40 min", "3 d 2 h" */
export function duration(ms) {
  if (!Number.isFinite(ms)) return "–";
  if (ms < 0) return `−${duration(-ms)}`;
  if (ms === 0) return "0 s";
  if (ms < 1) return `${precise.format(ms * 1000)} µs`;
  if (ms < 1000) return `${precise.format(ms)} ms`;
  if (ms < 60_000) return `${number(Math.floor(ms / 10) / 100)} s`;
  const seconds = Math.floor(ms / 1000);
  for (const [size, unit, below, smaller] of UNITS) {
    if (seconds < size) continue;
    const rest = Math.floor((seconds % size) / below);
    const first = `${number(Math.floor(seconds / size))} ${unit}`;
    return rest === 0 ? first : `${first} ${rest} ${smaller}`;
  }
}

const UNITS = [
  [86_400, "d", 3600, "h"],
  [3600, "h", 60, "min"],
  [60, "min", 1, "s"],
];

/** Formats a point in virtual time exactly: "12.345678 s" below a minute, "1:02:03.5" above. */
export function moment(ms) {
  if (!Number.isFinite(ms)) return "–";
  const micros = Math.round(ms * 1000);
  const seconds = Math.floor(micros / 1e6);
  const fraction = String(micros % 1e6)
    .padStart(6, "0")
    .replace(/0+$/, "");
  const tail = fraction === "" ? "" : `.${fraction}`;
  if (seconds < 60) return `${seconds}${tail} s`;
  const two = (value) => String(value).padStart(2, "0");
  const days = Math.floor(seconds / 86_400);
  const clock = `${Math.floor((seconds % 86_400) / 3600)}:${two(Math.floor((seconds % 3600) / 60))}:${two(seconds % 60)}${tail}`;
  return days === 0 ? clock : `${days} d ${clock}`;
}

/** Formats thousandths as percent. */
export const permille = (value) => `${number(value / 10)} %`;
