// The code of every kind of limit runs in each language (in memory), or compiles.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { RESERVED } from "../src/limit-snippets.mjs";
import { LANGUAGES } from "../src/snippets.mjs";

const root = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "../../..");
const code = Object.fromEntries(LANGUAGES.map(({ key, code: write }) => [key, write]));
const limits = {
  bucket: [{ kind: "bucket", limit: 100, interval: "1m" }],
  offset: [{ kind: "bucket", limit: 100, interval: "1d", offset: "2h" }],
  window: [{ kind: "window", limit: 100, interval: "PT0.1S" }],
  leaky: [{ kind: "leaky", limit: 50, interval: "10s" }],
  points: [{ kind: "points", limit: 1000, interval: "20s" }],
  refund: [
    { kind: "points", limit: 1000, interval: "20s", refund: "undrained" },
    { kind: "leaky", label: "burst", limit: 1000, interval: "20s", refund: "undrained" },
    { kind: "leaky", limit: 1000, interval: "20s", refund: "full" },
  ],
  throttle: [{ kind: "throttle", interval: "100ms" }],
  rate: [{ kind: "throttle", limit: 3, interval: "1s" }],
  concurrency: [{ kind: "concurrency", limit: 5, interval: "30s" }],
  lease: [{ kind: "concurrency", limit: 5 }],
  quota: [{ kind: "quota", limit: 1000, per: "month" }],
  calendar: [
    { kind: "quota", limit: 5000, per: "year", starts: "04-06" },
    {
      kind: "quota",
      label: "daily",
      limit: 100,
      per: "day",
      timezone: "Europe/Berlin",
      starts: "06:00",
    },
    { kind: "bucket", limit: 5000, interval: "1d" },
  ],
  unlimited: [{ kind: "unlimited" }],
  paused: [{ kind: "paused" }],
  label: [{ kind: "window", label: "rpm", limit: 100, interval: "minute" }],
  labels: [
    { kind: "bucket", label: "rpd", limit: 5000, interval: "1d", offset: "1h" },
    { kind: "bucket", limit: 100, interval: "1d", offset: "1h" },
    { kind: "window", label: "class", limit: 500, interval: "1m" },
    { kind: "leaky", label: "ttl", limit: 500, interval: "1m" },
    { kind: "points", label: "tpm", limit: 150_000, interval: "1m" },
    { kind: "throttle", label: "rps", limit: 3, interval: "1s" },
    { kind: "throttle", label: "window", interval: "100ms" },
    { kind: "concurrency", label: "jobs", limit: 5 },
  ],
  off: [
    { kind: "window", label: "rpm", limit: 100, interval: "minute" },
    { kind: "paused" },
    { kind: "paused", label: "paused-2" },
  ],
  several: [
    { kind: "concurrency", limit: 5, interval: "1m" },
    { kind: "window", limit: 100, interval: "minute" },
    { kind: "window", label: "per-hour", limit: 1000, interval: "hour" },
    { kind: "bucket", limit: 5000, interval: "1d", offset: "1h" },
    { kind: "points", limit: 1000, interval: "20s" },
    { kind: "throttle", interval: "PT0.1S" },
    { kind: "unlimited" },
  ],
};
// A policy that counts in labels of its own gets costs by label; the labels of other policies are left out.
const byLabel = (key, { cost, actual }) => {
  if (cost === undefined) return {};
  if (key !== "labels") return { cost, actual };
  return { cost: { tpm: cost, class: 2, other: 5 }, actual: { tpm: actual, class: 2 } };
};
const name = ['a "b" \\ #{c}', "{d} é ☃ ??/"].join(" $"); // what languages may take for their own
const cases = Object.entries(limits).flatMap(([key, list]) =>
  [{}, { cost: [10, 20], actual: [1, 5] }].flatMap((calls) =>
    ["none", "wait", "ticket"].map((retry) => ({
      key: `${key}, ${calls.actual ? "estimated" : "final"}, ${retry}`,
      isPaused: key === "paused" || key === "off",
      // What can never pass is known at once; else a call may wait for a second.
      policy: { name, limits: list, retry, ...(retry === "wait" ? { wait: "1s" } : {}) },
      calls: {
        arrivals: { kind: "jobs", count: 1 },
        ...(["throttle", "rate"].includes(key) ? {} : byLabel(key, calls)),
      },
    })),
  ),
);

// All cases of a language in one process; each has a limiter of its own.
const memory = (text) => text.replace("redis://localhost:6379/0", "memory://");

function ran(command, args, options) {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8", ...options });
  assert.equal(status, 0, `${stderr}\n${stdout}`);
  return stdout;
}

const temporary = (t) => {
  const directory = mkdtempSync(join(tmpdir(), "paddlegate-snippets-"));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
};

function areTold(outputs) {
  for (const [i, one] of cases.entries()) isTold(outputs[i], one);
}

const isTold = (output, { key, isPaused, calls }) => {
  if (isPaused) assert.match(output, /come back/, key);
  else if (calls.actual === undefined) assert.match(output, /the call/, key);
  assert.doesNotMatch(isPaused ? "" : output, /come back/, key);
};

const python = join(root, ".venv/bin/python");
const ruby = [`-I${join(root, "packages/ruby/lib")}`];

test("labels that are options in Python or Ruby, or words of Python, are no keywords", () => {
  const inPython = `import inspect, keyword
from paddlegate import Paddlegate
kinds = inspect.Parameter.VAR_KEYWORD
options = [p.name for p in inspect.signature(Paddlegate.limiter).parameters.values() if p.kind != kinds]
print(*options, *(word for word in keyword.kwlist if word.islower()))`;
  const inRuby = `require "paddlegate"
method = Paddlegate::Factories.instance_method(:limiter)
puts method.parameters.filter_map { |kind, name| name if kind == :key }
puts Paddlegate::Factories.const_get(:OPTIONS, false)`;
  const words = [
    ...ran(python, ["-c", inPython]).trim().split(/\s+/),
    ...ran("ruby", [...ruby, "-e", inRuby], { cwd: root })
      .trim()
      .split(/\s+/),
  ];
  assert.deepEqual([...RESERVED].sort(), [...new Set(words)].sort());
});

test("Python runs the code", (t) => {
  const directory = temporary(t);
  cases.forEach((one, i) => {
    writeFileSync(join(directory, `${i}.py`), memory(code.python(one.policy, one.calls)));
  });
  const all = `import runpy
for i in range(${cases.length}):
    print("case", i)
    runpy.run_path(f"${directory}/{i}.py")
`;
  const outputs = ran(python, ["-c", all])
    .split(/^case \d+$/m)
    .slice(1);
  areTold(outputs);
  console.log(`Python: ${cases.length} snippets`);
});

test("Node runs the code", (t) => {
  const directory = temporary(t);
  const entry = pathToFileURL(join(root, "packages/node/index.mjs")).href;
  cases.forEach((one, i) => {
    const text = memory(code.node(one.policy, one.calls)).replace('"paddlegate"', `"${entry}"`);
    writeFileSync(join(directory, `${i}.mjs`), text);
  });
  const all = `for (let i = 0; i < ${cases.length}; i++) {
    console.log("case " + i);
    await import("${pathToFileURL(directory).href}/" + i + ".mjs");
  }`;
  const outputs = ran(process.execPath, ["--input-type=module", "-e", all])
    .split(/^case \d+$/m)
    .slice(1);
  areTold(outputs);
  console.log(`Node: ${cases.length} snippets`);
});

const library = join(root, "target/release");
test("Ruby runs the code", (t) => {
  const directory = temporary(t);
  cases.forEach((one, i) => {
    writeFileSync(join(directory, `${i}.rb`), memory(code.ruby(one.policy, one.calls)));
  });
  const all = `${cases.length}.times { |i| puts "case #{i}"; load "${directory}/#{i}.rb" }`;
  const outputs = ran("ruby", [...ruby, "-e", all], { cwd: root })
    .split(/^case \d+$/m)
    .slice(1);
  areTold(outputs);
  console.log(`Ruby: ${cases.length} snippets`);
});

test("C compiles and runs the code", (t) => {
  const directory = temporary(t);
  // One program, in which each snippet is a function of its own.
  const functions = cases.map((one, i) =>
    memory(code.c(one.policy, one.calls)).replace("int main(void)", `static int case${i}(void)`),
  );
  const calls = cases.map((_, i) => `  puts("case ${i}");\n  if (case${i}()) return 1;\n`).join("");
  writeFileSync(
    join(directory, "all.c"),
    `${functions.join("\n")}\nint main(void) {\n${calls}  return 0;\n}\n`,
  );
  const program = join(directory, "all");
  ran("cc", [
    ...["-std=c99", "-Wall", "-Wextra", "-Werror", `-I${join(root, "bindings/c/include")}`],
    ...[join(directory, "all.c"), "-o", program, `-L${library}`],
    "-lpaddlegate",
  ]);
  symlinkSync(join(library, "libpaddlegate.so"), join(directory, "libpaddlegate.so.0"));
  const env = { ...process.env, LD_LIBRARY_PATH: directory };
  const outputs = ran(program, [], { env })
    .split(/^case \d+$/m)
    .slice(1);
  areTold(outputs);
  console.log(`C: ${cases.length} snippets`);
});

const rlib = join(library, "libpaddlegate.rlib");
test("Rust compiles the code", (t) => {
  const directory = temporary(t);
  // One module for each kind is enough for the compiler.
  const modules = cases.map(
    (one, i) =>
      `mod case${i} {\n${code.rust(one.policy, one.calls).replace("fn main", "pub fn main")}\n}`,
  );
  const calls = cases.map((_, i) => `    let _ = case${i}::main();`).join("\n");
  writeFileSync(join(directory, "all.rs"), `${modules.join("\n")}\nfn main() {\n${calls}\n}\n`);
  const dependency = `dependency=${join(library, "deps")}`;
  execFileSync(
    "rustc",
    [
      ...["--edition", "2021", "--crate-type", "bin", "--emit", "metadata", "-D", "warnings"],
      ...["--extern", `paddlegate=${rlib}`, "-L", dependency, "--out-dir", directory],
      join(directory, "all.rs"),
    ],
    { stdio: "pipe" },
  );
  console.log(`Rust: ${cases.length} snippets`);
});
