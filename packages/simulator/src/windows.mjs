// The shaded intervals behind the plots, and the events.
import { colour } from "./plot.mjs";
import { micros } from "./span.mjs";

const START_MS = 1_767_225_600_000; // the start of the simulation, a midnight in UTC
const NARROWEST = 5; // pixels

/** Returns every second interval of the first bucket of the policies as `{ interval, offset }` in ms; null without a bucket. */
export function shadingOf(policies) {
  const bucket = policies.flatMap(({ limits }) => limits).find(({ kind }) => kind === "bucket");
  if (bucket === undefined) return null;
  const offset = bucket.offset === undefined ? 0 : micros(bucket.offset) / 1000;
  return { interval: micros(bucket.interval) / 1000, offset };
}

export function shade(u, shading) {
  if (!(shading?.interval > 0)) return;
  const { interval, offset } = shading;
  const { ctx, bbox } = u;
  const { min, max } = u.scales.x;
  const x = (ms) =>
    Math.min(Math.max(u.valToPos(ms, "x", true), bbox.left), bbox.left + bbox.width);
  ctx.save();
  ctx.fillStyle = colour("band")();
  if ((interval / (max - min)) * bbox.width >= NARROWEST) {
    const phase = START_MS + offset;
    for (let i = Math.floor((phase + min) / interval); i * interval - phase < max; i++) {
      if (i % 2 === 0) continue;
      const from = x(i * interval - phase);
      ctx.fillRect(from, bbox.top, x((i + 1) * interval - phase) - from, bbox.height);
    }
  }
  ctx.restore();
}

/** Draws a dashed line at each event, with its name if `isNamed`. */
export function drawEvents(u, events, isNamed) {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour("muted")();
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.setLineDash([3 * ratio, 3 * ratio]);
  for (const { at, do: what } of events) {
    const ms = micros(at) / 1000;
    if (!(ms >= u.scales.x.min && ms <= u.scales.x.max)) continue;
    const x = Math.round(u.valToPos(ms, "x", true)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    if (isNamed) ctx.fillText(what, x + 4 * ratio, bbox.top + 12 * ratio);
  }
  ctx.restore();
}
