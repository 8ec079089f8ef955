"use strict";

/** A process of the adapter kit: serves the host of a module, `worker.js URL`, as the kit asks. */

const { once } = require("node:events");
const { PassThrough } = require("node:stream");
const { Paddlegate, TestClock } = require("../../index.js");

/** What the kit asks of an adapter by fields of a request. */
const asks = (header) => ({
  key: (request) => header(request, "x-key"),
  cost: (request) => Number(header(request, "x-cost") ?? 1),
  skip: (request) => header(request, "x-skip") !== undefined,
  refundIf: (status) => status === 404,
  overLimit: (_request, { limiter }) => ({ over: limiter }),
});

let store;
let limiter;
let server;
let clock;
const streams = new Set();

/** A body that has begun, and ends when the kit says so. */
function stream() {
  const body = new PassThrough();
  body.write("begun\n");
  streams.add(body);
  return body;
}

/** The tests have ended in the midst of a case. */
const orphaned = () => process.exit(1);

const commands = {
  async serve({ url, nowUs, name, limits, limiterOptions, isChosen, asked, options }) {
    clock = nowUs === undefined ? undefined : new TestClock(nowUs);
    // A machine that stalls for a second fails nothing.
    store = new Paddlegate(url, { clock, timeoutMs: 10_000 });
    limiter = store.limiter(name, limits, limiterOptions);
    const host = await import(process.argv[2]);
    const { header } = host;
    const chosen = (request) => (header(request, "x-free") === undefined ? limiter : undefined);
    const all = asks(header);
    const given = { ...options };
    for (const option of asked) given[option] = all[option];
    server = await host.serve({ limiter: isChosen ? chosen : limiter, options: given, stream });
    if (!server.listening) await once(server, "listening");
    return server.address().port;
  },
  advance: (seconds) => clock.advance(seconds),
  inspect: (key) => limiter.inspect(key === undefined ? {} : { key }),
  endStreams() {
    for (const body of streams) body.end("ended\n");
    streams.clear();
  },
  async close(keys) {
    server.closeAllConnections?.();
    await new Promise((resolve) => server.close(resolve));
    for (const key of keys) await limiter.reset(key === null ? {} : { key });
    await store.close();
  },
  /** Nothing but what the adapter has left keeps this process alive after that. */
  end() {
    process.off("disconnect", orphaned);
    setImmediate(() => process.disconnect());
  },
};

process.on("message", async ({ id, command, given }) => {
  try {
    const result = await commands[command](given);
    process.send({ id, result });
  } catch (error) {
    process.send({ id, error: error.stack });
  }
});
process.on("disconnect", orphaned);
