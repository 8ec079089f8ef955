// Draws all plots as one PNG, with titles, legends and the main totals.
import { duration, number } from "./format.mjs";
import { colourOf, LANES, mark, OUTCOMES } from "./outcomes.mjs";
import { colour, styleNow } from "./plot.mjs";
import { LETTERS } from "./policy-editor.mjs";
import { nameOfLimit } from "./scenario.mjs";
import { cutInWords } from "./summary.mjs";

const PAD = 24;
const HEAD = 40; // the name of a plot and its legend

/** Returns a Blob. `policies` of the scenario, `results` and `figures` have the same order. */
export async function pictureOf({ title, policies, results, figures, lanes }) {
  const ratio = devicePixelRatio;
  const width = Math.max(
    480,
    ...figures.flatMap((f) => f.pictures.map(({ canvas }) => canvas.width / ratio)),
  );
  const heights = figures.map(
    ({ pictures }) => 66 + pictures.reduce((sum, p) => sum + HEAD + p.canvas.height / ratio, 0),
  );
  const canvas = document.createElement("canvas");
  canvas.width = (width + 2 * PAD) * ratio;
  canvas.height = (64 + heights.reduce((sum, height) => sum + height, 0) + PAD) * ratio;
  const context = canvas.getContext("2d");
  context.fillStyle = colour("surface")();
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.scale(ratio, ratio);
  const write = (text, x, y, font, ink = "ink") => {
    context.font = `${font} system-ui, sans-serif`;
    context.fillStyle = colour(ink)();
    context.fillText(text, x, y, width + PAD - x);
  };
  write(title, PAD, PAD + 20, "600 20px");
  let y = 64;
  figures.forEach((figure, i) => {
    const { totals } = results[i];
    write(`${LETTERS[i]}  ${totals.name}`, PAD, y + 16, "600 15px");
    write(
      `${policies[i].limits.map(nameOfLimit).join(" and ")}. ${number(totals.granted)} of ${number(totals.arrived)} granted, longest wait ${duration(totals.wait_us.max / 1000)}. ${cutInWords(totals)}`,
      PAD,
      y + 36,
      "13px",
      "muted",
    );
    y += 56;
    for (const { name, canvas: drawn, lines } of figure.pictures) {
      write(name, PAD, y + 12, "600 13px");
      if (lines.length > 0) lineLegend(context, lines, y + 32);
      else if (drawn === figure.pictures[0].canvas) legend(context, lanes, figure.counts, y + 32);
      y += HEAD;
      context.drawImage(drawn, PAD, y, drawn.width / ratio, drawn.height / ratio);
      y += drawn.height / ratio;
    }
    y += 10;
  });
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

function legend(context, lanes, counts, y) {
  let x = PAD + 6;
  context.font = "12px system-ui, sans-serif";
  context.lineWidth = 1.6;
  for (const code of LANES.filter((lane) => lanes.has(lane))) {
    const outcome = OUTCOMES[code];
    context.fillStyle = context.strokeStyle = colourOf(styleNow(), outcome);
    mark(context, outcome.shape, x, y - 4, 4.5);
    const text = `${outcome.name} ${number(counts[code])}`;
    context.fillStyle = colour("ink")();
    context.fillText(text, x + 10, y);
    x += context.measureText(text).width + 32;
  }
}

function lineLegend(context, lines, y) {
  let x = PAD;
  context.font = "12px system-ui, sans-serif";
  context.lineWidth = 2;
  for (const line of lines) {
    context.strokeStyle = colour(line.colour)();
    context.setLineDash(line.dash);
    context.beginPath();
    context.moveTo(x, y - 4);
    context.lineTo(x + 28, y - 4);
    context.stroke();
    context.fillStyle = colour("ink")();
    context.fillText(line.label, x + 34, y);
    x += context.measureText(line.label).width + 58;
  }
  context.setLineDash([]);
}
