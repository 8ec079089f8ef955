// The outcomes of a call: code in the timeline, colour and shape.

export const OUTCOMES = [
  {
    code: 0,
    key: "refused",
    name: "Refused",
    description: "refused, without a retry",
    shape: "cross",
  },
  {
    code: 1,
    key: "granted",
    name: "Granted",
    description: "granted",
    shape: "circle",
  },
  {
    code: 2,
    key: "queued",
    name: "Queued",
    description: "took a ticket and waits in the queue",
    shape: "diamond",
  },
  {
    code: 3,
    key: "retries",
    name: "Retries",
    description: "refused, retries later",
    shape: "triangle",
  },
  {
    code: 4,
    key: "gave-up",
    name: "Gave up",
    description: "gave up: no attempts or no time left",
    shape: "square",
  },
  {
    code: 5,
    key: "lost",
    name: "Lost",
    description: "lost: its client crashed",
    shape: "star",
  },
  {
    code: 6,
    key: "throttled",
    name: "Throttled upstream",
    description: "granted, but throttled by the upstream",
    shape: "wedge",
  },
];

export const colourOf = (style, { key }) => style.getPropertyValue(`--${key}`).trim();

/** Draws the shape of an outcome around a point. */
export function mark(context, shape, x, y, r) {
  context.beginPath();
  SHAPES[shape](context, x, y, r);
  if (LINES.has(shape)) context.stroke();
  else context.fill();
}

const LINES = new Set(["cross", "star", "diamond", "triangle"]);

const SHAPES = {
  circle: (c, x, y, r) => c.arc(x, y, r, 0, 7),
  cross: (c, x, y, r) =>
    lines(c, [
      [x - r, y - r, x + r, y + r],
      [x - r, y + r, x + r, y - r],
    ]),
  diamond: (c, x, y, r) =>
    ring(c, [
      [x, y - r * 1.3],
      [x + r * 1.3, y],
      [x, y + r * 1.3],
      [x - r * 1.3, y],
    ]),
  triangle: (c, x, y, r) =>
    ring(c, [
      [x, y - r * 1.2],
      [x + r * 1.2, y + r],
      [x - r * 1.2, y + r],
    ]),
  wedge: (c, x, y, r) =>
    ring(c, [
      [x, y + r * 1.2],
      [x + r * 1.2, y - r],
      [x - r * 1.2, y - r],
    ]),
  square: (c, x, y, r) => c.rect(x - r, y - r, 2 * r, 2 * r),
  star: (c, x, y, r) =>
    lines(c, [
      [x, y - r * 1.3, x, y + r * 1.3],
      [x - r * 1.2, y - r * 0.7, x + r * 1.2, y + r * 0.7],
      [x - r * 1.2, y + r * 0.7, x + r * 1.2, y - r * 0.7],
    ]),
};

function lines(context, list) {
  for (const [x, y, toX, toY] of list) {
    context.moveTo(x, y);
    context.lineTo(toX, toY);
  }
}

function ring(context, [[x, y], ...others]) {
  context.moveTo(x, y);
  for (const [toX, toY] of others) context.lineTo(toX, toY);
  context.closePath();
}
