// Draws all plots as one PNG, with titles, legends and the main totals.
import { drawStroke } from "./figure.mjs";
import { duration, number } from "./format.mjs";
import { colour } from "./plot.mjs";
import { LETTERS } from "./policy-editor.mjs";
import { nameOfLimit } from "./scenario.mjs";
import { cutInWords } from "./summary.mjs";

const PAD = 24;
const HEAD = 40; // the title of a panel and its legend
const POLICY = 44; // a policy with its numbers

/** Returns a Blob. `policies` of the scenario and `results` have the same order. */
export async function pictureOf({ title, policies, results, panels }) {
  const ratio = devicePixelRatio;
  const width = Math.max(480, ...panels.map(({ canvas }) => canvas.width / ratio));
  const plots = panels.reduce((sum, { canvas }) => sum + HEAD + canvas.height / ratio, 0);
  const canvas = document.createElement("canvas");
  canvas.width = (width + 2 * PAD) * ratio;
  canvas.height = (64 + policies.length * POLICY + plots + PAD) * ratio;
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
  results.forEach(({ totals }, i) => {
    const rules = policies[i].limits.map(nameOfLimit).join(" and ");
    const waited = duration(totals.wait_us.max / 1000);
    const counts = `${number(totals.granted)} of ${number(totals.arrived)} granted, longest wait ${waited}`;
    write(`${LETTERS[i]}  ${totals.name}`, PAD, y + 14, "600 15px", `line-${i + 1}`);
    write(`${rules}. ${counts}. ${cutInWords(totals)}`, PAD, y + 33, "13px", "muted");
    y += POLICY;
  });
  for (const { title: name, lines, canvas: drawn } of panels) {
    write(name, PAD, y + 12, "600 13px");
    let x = PAD;
    for (const line of lines) {
      drawStroke(context, line, x, y + 28);
      write(line.label, x + 30, y + 32, "12px");
      x += context.measureText(line.label).width + 52;
    }
    y += HEAD;
    context.drawImage(drawn, PAD, y, drawn.width / ratio, drawn.height / ratio);
    y += drawn.height / ratio;
  }
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
