// The simulator around the module: what goes in as objects and comes out as columns. Its numbers are the core's tests'.
import assert from "node:assert/strict";
import test from "node:test";
import { Simulation } from "paddlegate-wasm/full";

// A hundred calls in the last second of a minute, a hundred in the first of the next.
const boundary = {
  policies: ["bucket", "window"].map((kind) => ({
    name: kind,
    limits: [{ kind, limit: 100, interval: "1m" }],
  })),
  arrivals: { kind: "burst", count: 100, every: "2s", for: "4s", from: "59s" },
};
const queues = {
  seed: 7,
  policies: [
    {
      limits: [
        { kind: "concurrency", limit: 3, interval: "30s" },
        { kind: "points", limit: 50, interval: "10s" },
      ],
      retry: "wait",
      wait: "5s",
    },
  ],
  arrivals: { kind: "poisson", count: 5, per: "1s", for: "20s" },
  cost: [1, 9],
  actual: [1, 5],
  work: ["100ms", "2s"],
  clients: 2,
  events: [{ at: "5s", do: "pause", for: "1s" }],
};
const invalid = (argument, message) => ({ name: "InvalidError", argument, message });

test("the boundary burst: a bucket grants twice its limit, a window does not", () => {
  const [bucket, window] = [0, 1].map((policy) => {
    const simulation = new Simulation(boundary, policy);
    assert.equal(simulation.run(), false);
    assert.equal(simulation.progress, 1);
    return simulation.totals();
  });
  assert.deepEqual([bucket.name, bucket.granted, bucket.refused], ["bucket", 200, 0]);
  assert.deepEqual([window.name, window.granted, window.refused], ["window", 100, 100]);
  assert.deepEqual(window.largest_burst, { interval_us: 60_000_000, units: 100 });
});

test("levels change between decisions: a bucket is full again at the minute", () => {
  const simulation = new Simulation(boundary);
  simulation.run();
  const { at, levels, held, queue } = simulation.overTime();
  assert.deepEqual([...levels[0]], [100, 0, 100, 0]);
  assert.deepEqual(Array.from(at, Math.round), [0, 59_000, 60_000, 61_000]);
  assert.deepEqual([...held, ...queue], Array(8).fill(0));
});

test("the totals are one line of JSON, the same each time for the same seed", () => {
  const text = (scenario) => {
    const simulation = new Simulation(scenario);
    simulation.run();
    return [simulation.totalsText(), simulation.totals()];
  };
  const [line, totals] = text(queues);
  assert.deepEqual(JSON.parse(line), totals);
  assert.doesNotMatch(line, /\n/);
  assert.equal(text(queues)[0], line);
  assert.equal(text({ ...queues, seed: 7 })[0], line);
  assert.notEqual(text({ ...queues, seed: 8 })[0], line);
});

test("in steps of one decision it goes the same way as at once", () => {
  for (const scenario of [boundary, queues]) {
    const [whole, stepped] = [new Simulation(scenario), new Simulation(scenario)];
    whole.run();
    let steps = 1;
    let progress = 0;
    while (stepped.run(1)) {
      steps += 1;
      assert.ok(stepped.progress >= progress);
      progress = stepped.progress;
    }
    assert.ok(steps >= whole.rows / 2 && steps > 50, `${steps}`);
    assert.deepEqual(stepped.columns(), whole.columns());
    assert.equal(stepped.totalsText(), whole.totalsText());
    assert.equal(stepped.run(), false);
  }
});

test("each column has a value for each row, and each limit a column", () => {
  const simulation = new Simulation(queues);
  assert.equal(simulation.rows, 0);
  simulation.run();
  const { rows } = simulation;
  const { levels, ...columns } = simulation.columns();
  assert.equal(levels.length, 2);
  assert.ok(rows > 100, `${rows}`);
  for (const [name, column] of Object.entries({ ...columns, ...levels })) {
    assert.equal(column.length, rows, name);
    assert.ok(column instanceof Object && ArrayBuffer.isView(column), name);
  }
  assert.ok(columns.outcome instanceof Uint8Array && columns.at instanceof Float64Array);
  assert.deepEqual(
    Array.from(columns.at),
    [...columns.at].sort((a, b) => a - b),
  );
  const tail = simulation.columns(rows - 5);
  assert.deepEqual(tail.at, columns.at.slice(-5));
  assert.deepEqual(tail.levels[1], levels[1].slice(-5));
  assert.equal(simulation.columns(rows).at.length, 0);
});

test("the headers of a row say what its caller would be told", () => {
  const simulation = new Simulation(boundary, 1);
  simulation.run();
  const { outcome, retryAfter } = simulation.columns();
  assert.deepEqual([outcome[0], outcome[150], retryAfter[150]], [1, 0, 58_000]);
  const policy = ["RateLimit-Policy", '"window";q=100;w=60'];
  assert.deepEqual(simulation.headers(0), [policy, ["RateLimit", '"window";r=99;t=60']]);
  assert.deepEqual(simulation.headers(150), [
    policy,
    ["RateLimit", '"window";r=0;t=58'],
    ["Retry-After", "58"],
  ]);
  assert.deepEqual(simulation.headers(200), []);
});

test("limits of one kind have labels, by which an event names them", () => {
  const limits = [
    { kind: "window", limit: 10, interval: "1s" },
    { kind: "window", label: "rpm", limit: 50, interval: "1m" },
  ];
  const overrule = (label) => ({ at: "0s", do: "override", label, limit: 5 });
  const granted = (events) => {
    const arrivals = { kind: "jobs", count: 100, from: "1s" };
    const simulation = new Simulation({ policies: [{ limits }], arrivals, events });
    simulation.run();
    const { limit } = simulation.columns();
    return [simulation.totals().granted, limit.at(-1)];
  };
  assert.deepEqual(granted([]), [10, 0]);
  assert.deepEqual(granted([overrule("rpm")]), [5, 1]);
  assert.deepEqual(granted([overrule("other")]), [10, 0]);
  assert.deepEqual(granted([{ at: "0s", do: "pause", for: "1m" }]), [0, limits.length]);
  assert.throws(
    () => granted([overrule()]),
    invalid("scenario", /^at \$\.events\[0\]\.label: is missing; give one of window, rpm/),
  );
});

test("without a timeline the totals are the same", () => {
  const [kept, counted] = [new Simulation(queues), new Simulation(queues).withoutTimeline()];
  kept.run();
  counted.run();
  assert.equal(counted.totalsText(), kept.totalsText());
  assert.equal(counted.rows, 0);
});

test("a fault in a scenario is named by its path", () => {
  const limit = (limit) => ({ ...boundary, policies: [{ limits: [limit] }] });
  const window = { kind: "window", limit: 5, interval: "1m" };
  const faults = [
    [limit({ ...window, interval: "x" }), /^at \$\.policies\[0\]\.limits\[0\]\.interval: /],
    [limit({ ...window, kind: "windw" }), /^at \$\.policies\[0\]\.limits\[0\]\.kind: /],
    [{ ...boundary, polices: 1 }, /^at \$\.polices: has no meaning/],
    [{ ...boundary, arrivals: { ...boundary.arrivals, count: 1.5 } }, /^at \$\.arrivals\.count: /],
    [{ ...boundary, events: [{ at: "1s", do: "dance" }] }, /^at \$\.events\[0\]\.do: /],
    [{ ...boundary, cost: Number.NaN }, /^at \$\.cost: /],
    [{ ...boundary, cost: () => 1 }, /^at \$\.cost: /],
    [{}, /^at \$\.policies: /],
    [null, /^at \$\.policies: /],
  ];
  for (const [scenario, message] of faults) {
    assert.throws(() => new Simulation(scenario), invalid("scenario", message));
  }
  for (const policy of [2, -1, "0"]) {
    assert.throws(() => new Simulation(boundary, policy), invalid("policy", /policy/));
  }
  for (const decisions of [-1, 1.5, "all"]) {
    const run = () => new Simulation(boundary).run(decisions);
    assert.throws(run, invalid("decisions", /whole number/));
  }
});

test("a scenario that holds itself is an error", () => {
  const scenario = { ...boundary };
  scenario.policies = [scenario];
  assert.throws(() => new Simulation(scenario), invalid("scenario", /is too deep$/));
});

test("what is given back is not used again, and others are not hurt", () => {
  const [given, other] = [new Simulation(boundary), new Simulation(boundary)];
  given.run(10);
  given.free();
  assert.throws(() => given.run());
  assert.throws(() => given.rows);
  assert.equal(other.run(), false);
  assert.equal(other.totals().granted, 200);
  for (let i = 0; i < 1000; i += 1) new Simulation(boundary).free();
});
