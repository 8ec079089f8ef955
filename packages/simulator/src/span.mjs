// Durations as the core reads them, in microseconds; used only for drawing and for code. An invalid
// duration is NaN here; the core reports the error.

const WORDS = { second: 1e6, minute: 60e6, hour: 3600e6, day: 86_400e6 };
const UNITS = { ms: 1e3, s: 1e6, m: 60e6, h: 3600e6, d: 86_400e6 };
const NUMBER = String.raw`(\d+(?:[.,]\d*)?|[.,]\d+)`;
const ISO = new RegExp(
  `^P(?:${NUMBER}W)?(?:${NUMBER}D)?(?:T(?:${NUMBER}H)?(?:${NUMBER}M)?(?:${NUMBER}S)?)?$`,
);
const SIZES = [604_800e6, 86_400e6, 3600e6, 60e6, 1e6];

export function micros(text) {
  const trimmed = String(text ?? "").trim();
  if (Object.hasOwn(WORDS, trimmed)) return WORDS[trimmed];
  const short = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(trimmed);
  if (short) return product(short[1], UNITS[short[2]]);
  const iso = ISO.exec(trimmed);
  if (!iso || trimmed === "P" || trimmed.endsWith("T")) return Number.NaN;
  return SIZES.reduce((total, size, i) => total + product(iso[i + 1] ?? "0", size), 0);
}

// Returns a decimal times a size, rounded up as in the core. Floats would not do: 2.007 * 1e6 is above 2007000.
function product(decimal, size) {
  const [whole, fraction = ""] = decimal.split(/[.,]/);
  const scale = 10n ** BigInt(fraction.length);
  return Number((BigInt(`0${whole}${fraction}`) * BigInt(size) + scale - 1n) / scale);
}

/** Returns the shortest text that the core reads as this duration: "90s", "2m", "1h". */
export function shortest(length) {
  for (const [unit, size] of Object.entries(UNITS).reverse()) {
    if (length % size === 0 && length > 0) return `${length / size}${unit}`;
  }
  return iso(length);
}

/** "PT0.1S" */
export function iso(length) {
  return `PT${seconds(length)}S`;
}

/** Returns seconds as a plain decimal: "0.1", "86400". */
export function seconds(length) {
  const whole = Math.floor(length / 1e6);
  const rest = String(Math.round(length % 1e6))
    .padStart(6, "0")
    .replace(/0+$/, "");
  return rest === "" ? String(whole) : `${whole}.${rest}`;
}
