// The editors of the workload: arrivals, costs, work, clients, upstream, events.
import { button, h, named } from "./dom.mjs";
import { checkbox, field, textField } from "./field.mjs";
import { limitEditor } from "./limit-editor.mjs";
import { ARRIVALS, EVENTS, entryOf, MAX_EVENTS, newEvent } from "./scenario.mjs";

const KIND_NAMES = {
  steady: "Steady: evenly spaced",
  poisson: "Poisson: at random",
  burst: "Bursts: many at once, repeatedly",
  ramp: "Ramp: the rate rises or falls",
  daily: "Daily: lowest at midnight, highest at noon",
  jobs: "Jobs: all queued at the start",
  times: "Times: pasted, or a CSV file",
};
const LABELS = {
  count: { jobs: "Jobs", burst: "At once", daily: "At midnight", ramp: "From", other: "Count" },
  to: { daily: "At noon", other: "To" },
  per: { other: "Per" },
  every: { other: "Every" },
  for: { other: "For" },
  from: { other: "First arrival after" },
};
const EVENT_NAMES = {
  pause: "Pause",
  resume: "Resume",
  override: "Override a limit",
  crash: "A client crashes",
};
const EVENT_LABELS = {
  at: ["At", ""],
  for: ["For", "permanently"],
  label: ["Label of the limit", "the only limit"],
  limit: ["New limit", "unchanged"],
  interval: ["New interval", "unchanged"],
  client: ["Client index (from 0)", "0"],
};
const BIG = 60_000; // characters above which a text is not shown in a field, which would be slow

export function arrivalsEditor(session) {
  const { arrivals } = session.draft;
  const changed = () => session.changed();
  const fields = (entryOf(ARRIVALS, arrivals.kind) ?? []).map((key) => {
    if (key === "text") return timesEditor(session, arrivals);
    const label = LABELS[key][arrivals.kind] ?? LABELS[key].other;
    const placeholder = key === "from" ? "0s" : undefined;
    const path = `arrivals.${key}`;
    return field({ path, label, placeholder, source: arrivals, key, changed });
  });
  return h(
    "div",
    { class: "fields" },
    field({
      path: "arrivals.kind",
      label: "Arrivals",
      source: arrivals,
      key: "kind",
      options: KIND_NAMES,
      changed: () => session.rebuilt("arrivals.kind"),
      wide: true,
    }),
    fields,
  );
}

function timesEditor(session, arrivals) {
  const file = h("input", { type: "file", accept: ".csv,.txt,text/csv,text/plain", class: "file" });
  file.addEventListener("change", async () => {
    const [chosen] = file.files;
    if (chosen === undefined) return;
    arrivals.text = await chosen.text();
    session.rebuilt("arrivals.text");
  });
  const label = h("label", { class: "field wide" }, h("span", {}, "Or read a file"), file);
  if (arrivals.text.length > BIG && !arrivals.opened) {
    const lines = arrivals.text.split("\n").length.toLocaleString("en");
    const open = button(
      "Edit as text",
      () => {
        arrivals.opened = true;
        session.rebuilt("arrivals.text");
      },
      { id: "times-text" },
    );
    open.dataset.path = "arrivals.text";
    open.setAttribute("aria-describedby", "times-text-error");
    const error = h("p", { class: "error", id: "times-text-error", hidden: true });
    return h(
      "div",
      { class: "field wide" },
      h("p", {}, `${lines} lines loaded.`),
      open,
      error,
      label,
    );
  }
  const text = textField({
    path: "arrivals.text",
    label: "Times, one per line",
    hint: "Seconds or RFC 3339 times; or CSV with a header of at,cost,actual,work,count; cost.LABEL for one limit",
    value: arrivals.text,
    changed: (value) => {
      arrivals.text = value;
      session.changed();
    },
  });
  return h("div", { class: "wide" }, text, label);
}

export function callsEditor(session) {
  const source = session.draft;
  const changed = () => session.changed();
  const one = (key, label, placeholder, hint) =>
    field({ path: key, label, placeholder, hint, source, key, changed });
  return h(
    "div",
    { class: "fields" },
    one("cost", "Cost or estimate", "1", "40, or 1..5, or by label: tpm=100..900, rpm=1"),
    one("actual", "Actual cost", "as estimated", "1..5, or tpm=50..400"),
    one("work", "Call duration", "0s", "2s, or 1s..5s"),
    one("clients", "Clients", "1"),
    one("at_once", "Concurrent calls per client", "unlimited"),
    one("until", "Observe until", "all calls have ended"),
    one("seed", "Seed of the random numbers", "1"),
  );
}

export function upstreamEditor(session) {
  const { upstream } = session.draft;
  const changed = () => session.changed();
  const on = checkbox({
    path: "upstream.on",
    label: "The called service has its own limits",
    source: upstream,
    key: "on",
    changed: () => session.rebuilt("upstream.on"),
  });
  if (!upstream.on) return h("div", {}, on);
  const anew = (isAnew, ...places) => (isAnew ? session.rebuilt(...places) : session.changed());
  return h(
    "div",
    {},
    on,
    limitEditor(upstream.limits, "upstream", anew),
    h(
      "div",
      { class: "fields" },
      field({
        path: "upstream.latency",
        label: "Latency",
        placeholder: "none",
        source: upstream,
        key: "latency",
        changed,
      }),
      checkbox({
        path: "upstream.learn",
        label: "A 429 response pauses the limiter",
        source: upstream,
        key: "learn",
        changed,
      }),
    ),
  );
}

export function eventsEditor(session) {
  const { events } = session.draft;
  const add = () => {
    events.push(newEvent());
    session.rebuilt(`events[${events.length - 1}].do`);
  };
  return h(
    "div",
    {},
    events.map((_, i) => eventRow(session, i)),
    named(
      button("Add event", add, { class: "quiet", disabled: events.length >= MAX_EVENTS }),
      "events.add",
    ),
  );
}

function eventRow(session, i) {
  const { events } = session.draft;
  const event = events[i];
  const remove = () => {
    events.splice(i, 1);
    session.rebuilt(`events[${i}].remove`, "events.add");
  };
  const fields = (entryOf(EVENTS, event.do) ?? ["at"]).map((key) => {
    const [label, placeholder] = EVENT_LABELS[key];
    const path = `events[${i}].${key}`;
    const changed = () => session.changed();
    return field({ path, label, placeholder, source: event, key, changed });
  });
  const label = `Remove event ${i + 1}`;
  return h(
    "div",
    { class: "limit", role: "group", "aria-label": `Event ${i + 1}` },
    field({
      path: `events[${i}].do`,
      label: "Event",
      source: event,
      key: "do",
      options: EVENT_NAMES,
      changed: () => session.rebuilt(`events[${i}].do`),
    }),
    fields,
    named(
      button("×", remove, { class: "icon", "aria-label": label, title: label }),
      `events[${i}].remove`,
    ),
  );
}
