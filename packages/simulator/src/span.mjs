// Durations as the core reads them, in microseconds; used only for drawing and for code. An invalid
// duration is NaN here; the core reports the error.

const WORDS = { second: 1e6, minute: 60e6, hour: 3600e6, day: 86_400e6 };
const UNITS = { ms: 1e3, s: 1e6, m: 60e6, h: 3600e6, d: 86_400e6 };
const ISO = /^P(?:([\d.,]+)W)?(?:([\d.,]+)D)?(?:T(?:([\d.,]+)H)?(?:([\d.,]+)M)?(?:([\d.,]+)S)?)?$/;
const SIZES = [604_800e6, 86_400e6, 3600e6, 60e6, 1e6];

export function micros(text) {
  const trimmed = String(text ?? "").trim();
  if (Object.hasOwn(WORDS, trimmed)) return WORDS[trimmed];
  const short = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(trimmed);
  if (short) return Math.ceil(Number(short[1]) * UNITS[short[2]]);
  const iso = ISO.exec(trimmed);
  if (!iso || trimmed === "P" || trimmed.endsWith("T")) return Number.NaN;
  const sum = SIZES.reduce(
    (total, size, i) => total + Number((iso[i + 1] ?? "0").replace(",", ".")) * size,
    0,
  );
  return Math.ceil(Number(sum.toFixed(3)));
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
