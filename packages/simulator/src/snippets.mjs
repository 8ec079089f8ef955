// A policy as code in each language, with the names and units of the Paddlegate packages.
import * as costs from "./cost-snippets.mjs";
import * as jobs from "./job-snippets.mjs";
import {
  capital,
  hasLabel,
  isNamed,
  isRate,
  isUndrained,
  kindsWithLabels,
  nodeLimits,
  numbersOf,
  pythonLimits,
  rubyLimits,
  text,
} from "./limit-snippets.mjs";
import { CALENDAR, KINDS, labelOf } from "./scenario.mjs";
import { micros, seconds } from "./span.mjs";

const URL = "redis://localhost:6379/0";
const LOCK_TIMEOUT = 30e6;

/** The languages in display order: `[{ key, name, code(policy, scenario) }]`. */
export const LANGUAGES = [
  { key: "python", name: "Python", code: python },
  { key: "node", name: "Node", code: node },
  { key: "ruby", name: "Ruby", code: ruby },
  { key: "rust", name: "Rust", code: rust },
  { key: "c", name: "C", code: c },
];

/** Returns the facts that the code of every language needs, from a scenario and one of its policies. */
function factsOf(policy, scenario) {
  const all = policy.limits.map(({ kind, label, limit, interval, offset, ...others }) => ({
    ...others,
    kind,
    label: KINDS[kind].interval === null ? kind : labelOf({ kind, label }),
    limit: limit ?? 1,
    interval: interval === undefined ? LOCK_TIMEOUT : micros(interval),
    offset: offset === undefined ? 0 : micros(offset),
  }));
  // As in the core, and a second pause adds nothing.
  const ruling = all.filter(
    ({ kind }, i) =>
      kind !== "unlimited" &&
      (kind !== "paused" || all.findIndex((one) => one.kind === kind) === i),
  );
  const limits = ruling.length > 0 ? ruling : all.slice(0, 1);
  const isLabelled = limits.some(isNamed);
  const labels = limits.map(({ label }) => label);
  const isEstimated = scenario.actual !== undefined && policy.correct !== false;
  const waits = policy.retry === "wait";
  return {
    name: policy.name || "policy",
    limits,
    isLabelled,
    only:
      limits.length === 1 && limits[0].offset === 0 && !isRate(limits[0]) && !isLabelled
        ? limits[0]
        : null,
    cost: costs.highest(scenario.cost, labels),
    actual: isEstimated ? costs.highest(scenario.actual, labels) : null,
    wait: waits ? micros(policy.wait ?? "3650d") : 0,
    isJob: policy.retry === "ticket",
    isHeld: limits.some(({ kind }) => kind === "concurrency"),
  };
}

/**
 * Returns code such as `window("name", 100, 60)`, which is the same in Python, Node and Ruby except for leases.
 * `labelled` writes limits with labels.
 */
function makerOf(facts, lease, list, labelled) {
  const { name, only, limits } = facts;
  if (facts.isLabelled) return `limiter(${text(name)}, ${labelled(limits)})`;
  if (only === null) return `limiter(${text(name)}, [${limits.map(list).join(", ")}])`;
  if (only.kind === "concurrency")
    return `concurrent(${text(name)}, ${only.limit}, ${lease(only)})`;
  return `${only.kind}(${[text(name), ...numbersOf(only)].join(", ")})`;
}

function python(policy, scenario) {
  const facts = factsOf(policy, scenario);
  const maker = makerOf(
    facts,
    ({ interval }) => `lock_timeout=${seconds(interval)}`,
    (limit) =>
      `(${[text(limit.kind), ...numbersOf(limit)].join(", ")}${KINDS[limit.kind].interval === null ? "," : ""})`,
    pythonLimits,
  );
  const classes = kindsWithLabels(facts).map(capital);
  const names = (others) => [...others, "Paddlegate", ...classes].sort().join(", ");
  if (facts.isJob) return jobs.python(maker, facts, names([]));
  const asked = [`${facts.actual === null ? "cost" : "estimate"}=${costs.python(facts.cost)}`];
  asked.push(`wait_timeout=${seconds(facts.wait)}`);
  const body =
    facts.actual === null
      ? ['    print("the call")']
      : [`    permit.points_used(${costs.python(facts.actual)})  # the actual cost of the call`];
  return `from paddlegate import ${names(["OverLimit"])}

pg = Paddlegate("${URL}")
limiter = pg.${maker}

try:
    with limiter.within_limit(${asked.join(", ")})${facts.actual === null ? "" : " as permit"}:
    ${body[0]}
except OverLimit as over:
    print("come back in", over.retry_after, "s")
`;
}

function node(policy, scenario) {
  const facts = factsOf(policy, scenario);
  const maker = makerOf(
    facts,
    ({ interval }) => `{ lockTimeoutMs: ${interval / 1000} }`,
    (limit) => `[${[text(limit.kind), ...numbersOf(limit)].join(", ")}]`,
    nodeLimits,
  );
  const names = (others) => [...others, "Paddlegate", ...kindsWithLabels(facts).sort()].join(", ");
  if (facts.isJob) return jobs.node(maker, facts, names([]));
  const asked = `${facts.actual === null ? "cost" : "estimate"}: ${costs.node(facts.cost)}`;
  const body =
    facts.actual === null
      ? '() => console.log("the call")'
      : `(permit) =>\n    permit.pointsUsed(${costs.node(facts.actual)}), // the actual cost of the call\n  `;
  return `import { ${names(["OverLimitError"])} } from "paddlegate";

const pg = new Paddlegate("${URL}");
const limiter = pg.${maker};

try {
  await limiter.withinLimit({ ${asked}, waitTimeoutMs: ${facts.wait / 1000} }, ${body});
} catch (error) {
  if (!(error instanceof OverLimitError)) throw error;
  console.log(\`come back in \${error.retryAfterMs} ms\`);
}
`;
}

function ruby(policy, scenario) {
  const facts = factsOf(policy, scenario);
  const maker = makerOf(
    facts,
    ({ interval }) => `lock_timeout: ${seconds(interval)}`,
    (limit) => `[${[`:${limit.kind}`, ...numbersOf(limit)].join(", ")}]`,
    rubyLimits,
  );
  if (facts.isJob) return jobs.ruby(maker, facts);
  const asked = `${facts.actual === null ? "cost" : "estimate"}: ${costs.node(facts.cost)}`;
  const body =
    facts.actual === null
      ? '{ puts "the call" }'
      : `do |permit|\n    permit.points_used(${costs.node(facts.actual)}) # the actual cost of the call\n  end`;
  return `require "paddlegate"

Paddlegate.configure { |config| config.url = "${URL}" }
limiter = Paddlegate.${maker}

begin
  limiter.within_limit(${asked}, wait_timeout: ${seconds(facts.wait)}) ${body}
rescue Paddlegate::OverLimit => e
  puts "come back in #{e.retry_after} s"
end
`;
}

function rustSpan(length) {
  return length % 1e6 === 0
    ? `Duration::from_secs(${grouped(length / 1e6)})`
    : `Duration::from_micros(${grouped(length)})`;
}

const grouped = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, "_");

function rust(policy, scenario) {
  const facts = factsOf(policy, scenario);
  const { name, only, limits, wait } = facts;
  const parts = (limit) =>
    limit.kind === "throttle" && !isRate(limit)
      ? [rustSpan(limit.interval)]
      : [grouped(limit.limit), ...numbersOf(limit, rustSpan).slice(1)];
  const numbers = (limit) => (KINDS[limit.kind].interval === null ? [] : parts(limit));
  const quoted = rustText(name);
  const limit = (one) =>
    hasLabel(one) ? `${refunding(one)}.labelled(${rustText(one.label)})?` : refunding(one);
  const refunding = (one) =>
    isUndrained(one) ? `${made(one)}.with_refund(Refund::Undrained)?` : made(one);
  const made = (one) => {
    if (one.kind === "paused") return "Limit::paused()";
    if (one.kind === "quota") return `Limit::quota(${grouped(one.limit)}, ${rustCalendar(one)})?`;
    if (isRate(one)) return `Limit::throttle_rate(${numbers(one).join(", ")})?`;
    if (one.offset > 0) return `Limit::bucket_with_offset(${numbers(one).join(", ")})?`;
    return `Limit::${one.kind}(${numbers(one).join(", ")})?`;
  };
  const maker =
    only === null
      ? `limiter(${quoted}, Policy::new([\n        ${limits.map(limit).join(",\n        ")},\n    ])?)?`
      : `${only.kind === "concurrency" ? "concurrent" : only.kind}(${[quoted, ...numbers(only)].join(", ")})?`;
  const several = only === null ? ["Limit", "Policy"] : [];
  if (limits.some(({ kind }) => kind === "quota")) several.push("Calendar");
  if (limits.some(isUndrained)) several.push("Refund");
  const waiting = facts.isJob ? "OnLimit" : "Status";
  const names = [...several, "Paddlegate", "Request", waiting].sort().join(", ");
  const asked = `Request::${facts.actual === null ? "cost" : "estimate"}(${costs.rust(facts.cost, grouped)})`;
  const after = [];
  if (facts.actual !== null) {
    after.push(
      `limiter.correct(permit, ${costs.rust(facts.actual, grouped)})?; // the actual cost of the call`,
    );
  }
  if (facts.isHeld) after.push("limiter.release(permit)?;");
  const settled = after.map((line) => `            ${line}\n`).join("");
  const settling = `        if let Some(permit) = &decision.permit {\n${settled}        }\n`;
  if (facts.isJob) {
    const settled = (after.length > 0 ? settling : "").replace("decision", "job.decision");
    return jobs.rust(maker, { names, request: asked, settling: settled });
  }
  return `use std::time::Duration;

use paddlegate::{${names}};

fn main() -> paddlegate::Result<()> {
    let pg = Paddlegate::open("${URL}", None)?;
    let limiter = pg.${maker};
    let decision = limiter.acquire(${asked}, ${wait === 0 ? "Duration::ZERO" : rustSpan(wait)})?;
    if decision.status == Status::Granted {
        println!("the call");
${after.length > 0 ? settling : ""}    } else {
        println!("come back after {:?}", decision.retry_after);
    }
    Ok(())
}
`;
}

const rustCalendar = ({ per, timezone, starts }) =>
  `Calendar::${per}()${timezone === undefined ? "" : `.in_timezone(${rustText(timezone)})?`}${
    starts === undefined ? "" : `.starting(${rustText(starts)})?`
  }`;

const rustText = (value) =>
  `"${value.replace(/[\\"]/g, "\\$&").replace(/[^ -~]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`)}"`;

function c(policy, scenario) {
  const facts = factsOf(policy, scenario);
  const { name, only, limits, wait } = facts;
  const us = (length) => String(length);
  const quoted = cText(name);
  const maker =
    only === null
      ? `pg_limiter_new(store, ${quoted}, limits, ${limits.length}, &limiter, &error)`
      : `pg_limiter_${only.kind === "concurrency" ? "concurrent" : only.kind}(${["store", quoted, ...numbersOf(only, us), "&limiter", "&error"].join(", ")})`;
  const row = (limit) => {
    const members = [`.kind = PG_KIND_${limit.kind.toUpperCase()}`];
    if (hasLabel(limit)) members.push(`.label = ${cText(limit.label)}`);
    if (limit.kind === "quota") {
      members.push(`.amount = ${limit.limit}`);
      for (const key of CALENDAR)
        if (limit[key] !== undefined) members.push(`.${key} = ${cText(limit[key])}`);
    } else if (KINDS[limit.kind].interval !== null) {
      if (limit.kind !== "throttle" || isRate(limit)) members.push(`.amount = ${limit.limit}`);
      members.push(`.interval_us = ${us(limit.interval)}`);
      if (limit.offset > 0) members.push(`.offset_us = ${us(limit.offset)}`);
      if (isUndrained(limit)) members.push(`.refund = ${cText(limit.refund)}`);
    }
    return `      {${members.join(", ")}},\n`;
  };
  const list =
    only === null ? `  const pg_limit limits[] = {\n${limits.map(row).join("")}  };\n` : "";
  const asked = costs.cRequest(facts.actual === null ? "cost" : "estimate", facts.cost);
  const after = [];
  if (facts.actual !== null) {
    after.push(
      `    pg_correct(limiter, decision.permit, ${costs.cActual(facts.actual)}, &settlement, &error); /* the actual cost of the call */`,
    );
  }
  if (facts.isHeld) after.push("    pg_release(limiter, decision.permit, &settlement, &error);");
  if (facts.isJob) return jobs.c(maker, { list, request: asked, after });
  return `#include <paddlegate.h>
#include <stdio.h>

int main(void) {
${list}  pg_store *store;
  pg_limiter *limiter;
  pg_decision decision;
${after.length > 0 ? "  pg_settlement settlement;\n" : ""}  pg_error error = {0};

  if (pg_store_open("${URL}", 0, &store, &error) ||
      ${maker} ||
      pg_acquire_timeout(limiter, &(pg_request){${asked}}, ${wait}, &decision, &error)) {
    fprintf(stderr, "%s: %s\\n", pg_error_name(error.code), error.message);
    return 1;
  }
  if (decision.status == PG_STATUS_GRANTED) {
    puts("the call");
${after.map((line) => `${line}\n`).join("")}  } else {
    printf("come back in %lld us\\n", (long long)decision.retry_after_us);
  }
  pg_limiter_close(limiter, NULL);
  pg_store_close(store, NULL);
  return 0;
}
`;
}

const cText = (value) =>
  `"${value
    .replace(/[\\"]/g, "\\$&")
    .replace(/\?/g, "\\?")
    .replace(/[^ -~]/gu, octal)}"`;

// Escapes a character as UTF-8 octets, independent of the encoding of the C file.
const octal = (character) =>
  [...new TextEncoder().encode(character)]
    .map((byte) => `\\${byte.toString(8).padStart(3, "0")}`)
    .join("");
