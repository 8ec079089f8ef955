// The editor of the limits of a policy, or of the upstream.
import { button, h, named } from "./dom.mjs";
import { field } from "./field.mjs";
import {
  entryOf,
  KINDS,
  labelTwins,
  MAX_LIMITS,
  METERS,
  newLimit,
  PERIODS,
  REFUNDS,
  unlabelTwin,
} from "./scenario.mjs";

const NAMES = Object.fromEntries(Object.entries(KINDS).map(([kind, { name }]) => [kind, name]));
const SPAN = "as 500ms, 10s, 5m, 1h, 1d or PT0.1S";

/**
 * Calls `changed(true, ...paths)` if fields were added or removed, with the paths to focus, otherwise `changed(false)`.
 */
export function limitEditor(limits, path, changed) {
  const rows = limits.map((_, i) => limitRow(limits, i, `${path}.limits[${i}]`, changed));
  const add = () => {
    limits.push(newLimit(limits.some(({ kind }) => kind === "bucket") ? "window" : "bucket"));
    labelTwins(limits);
    changed(true, `${path}.limits[${limits.length - 1}].kind`);
  };
  const list = h("div", { class: "limits", role: "group", "aria-label": "Limits" }, rows);
  const more = button("Add limit", add, { class: "quiet", disabled: limits.length >= MAX_LIMITS });
  const id = `limits-${path.replace(/\W/g, "-")}`;
  const error = h("p", { class: "error", id: `${id}-error`, hidden: true });
  const anchor = set(more, id, `${path}.limits`);
  return h("div", {}, list, anchor, error);
}

function set(element, id, path) {
  element.id = id;
  element.dataset.path = path;
  element.setAttribute("aria-describedby", `${id}-error`);
  return element;
}

/** The fields of a quota: what the periods start with depends on their length. */
function calendarFields(limit, path, changed) {
  const one = (key, label, others) =>
    field({
      path: `${path}.${key}`,
      label,
      source: limit,
      key,
      changed: () => changed(false),
      ...others,
    });
  const options = Object.fromEntries(Object.keys(PERIODS).map((per) => [per, per]));
  const other = () => changed(true, `${path}.per`);
  const example = entryOf(PERIODS, limit.per) ?? "2026-01-31";
  return [
    one("per", "Per", { options, changed: other }),
    one("timezone", "Time zone", { placeholder: "UTC", hint: "as +05:30 or Europe/Berlin" }),
    one("starts", "Starts", { hint: `as ${example}; the run begins on 2026-01-01 at 00:00 UTC` }),
  ];
}

function limitRow(limits, i, path, changed) {
  const limit = limits[i];
  const edited = () => changed(false);
  const kind = entryOf(KINDS, limit.kind) ?? { interval: "Interval" };
  const parts = [
    field({
      path: `${path}.kind`,
      label: "Kind",
      source: limit,
      key: "kind",
      options: NAMES,
      changed: () => {
        // Most throttles have one call per interval.
        if (limit.kind === "throttle") limit.limit = "";
        if (limit.kind === "quota") limit.per ||= "month";
        unlabelTwin(limit);
        labelTwins(limits);
        changed(true, `${path}.kind`);
      },
    }),
  ];
  if (limit.label || limits.some((other) => other !== limit && other.kind === limit.kind)) {
    parts.push(
      field({
        path: `${path}.label`,
        label: "Label",
        source: limit,
        key: "label",
        placeholder: limit.kind,
        changed: edited,
      }),
    );
  }
  if (kind.interval !== null) {
    parts.push(
      field({
        path: `${path}.limit`,
        label: "Limit",
        source: limit,
        key: "limit",
        placeholder: limit.kind === "throttle" ? "1" : undefined,
        changed: edited,
      }),
    );
    if (kind.interval === "") {
      parts.push(...calendarFields(limit, path, changed));
    } else {
      const placeholder = limit.kind === "concurrency" ? "30s" : "1m";
      parts.push(
        field({
          path: `${path}.interval`,
          label: kind.interval,
          source: limit,
          key: "interval",
          placeholder,
          changed: edited,
        }),
      );
    }
    if (METERS.includes(limit.kind)) {
      parts.push(
        field({
          path: `${path}.refund`,
          label: "Refund",
          source: limit,
          key: "refund",
          options: REFUNDS,
          changed: edited,
        }),
      );
    }
    if (limit.kind === "bucket") {
      parts.push(
        field({
          path: `${path}.offset`,
          label: "Offset",
          source: limit,
          key: "offset",
          placeholder: "none",
          changed: edited,
        }),
      );
    }
  }
  if (limits.length > 1) {
    const remove = () => {
      limits.splice(i, 1);
      changed(true, `${path}.remove`, path.replace(/\[\d+\]$/, ""));
    };
    const label = `Remove limit ${i + 1}`;
    const cross = button("×", remove, { class: "icon", "aria-label": label, title: label });
    parts.push(named(cross, `${path}.remove`));
  }
  return h(
    "div",
    {
      class: "limit",
      role: "group",
      "aria-label": `Limit ${i + 1}, ${kind.description ?? ""}; times ${SPAN}`,
    },
    parts,
  );
}
