// Streams of Hono: three at once, each until its end or until its client has gone; the fourth is refused.
//
// Guide: docs/src/guides/hono.md

import assert from "node:assert/strict";
import { once } from "node:events";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { streamText } from "hono/streaming";
import { Paddlegate } from "paddlegate";
import { rateLimit } from "paddlegate/hono";

const pg = new Paddlegate();
const streams = pg.concurrent("streams", 3);
await streams.reset();

const app = new Hono();
app.use(rateLimit(streams, { fields: "x", overLimit: (c) => c.text("all lines are busy\n", 503) }));
app.get("/ticks", (c) =>
  streamText(c, async (stream) => {
    while (!stream.aborted) {
      await stream.writeln("tick");
      await stream.sleep(20);
    }
  }),
);

const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 });
await once(server, "listening");
const url = `http://127.0.0.1:${server.address().port}/ticks`;
const open = async () => {
  const client = new AbortController();
  const response = await fetch(url, { signal: client.signal });
  return { client, response };
};

try {
  const opened = [await open(), await open(), await open()];
  for (const { response } of opened) assert.equal(response.status, 200);
  const refused = await fetch(url);
  console.log(refused.status, (await refused.text()).trim());
  assert.equal(refused.status, 503);

  opened[0].client.abort();
  let next = await open();
  // The server learns that its client has gone a moment later.
  while (next.response.status !== 200) next = await open();
  console.log("one has gone, the next one streams");
  for (const { client } of [...opened, next]) client.abort();
  while ((await streams.inspect()).leaseCount > 0) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
} finally {
  server.close();
  await pg.close();
}
