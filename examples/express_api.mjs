// An API on Express: plans by the key of a user, costly routes, and a client that obeys the refusal.
//
// Guide: docs/src/guides/express.md

import assert from "node:assert/strict";
import { once } from "node:events";
import express from "express";
import { Paddlegate } from "paddlegate";
import { rateLimit } from "paddlegate/express";

const pg = new Paddlegate();
const free = pg.points("api:free", 10, 2, { keyed: true }); // ten points, five more each second
const paid = pg.points("api:paid", 100, 2, { keyed: true });
const plans = { "k-free": free, "k-paid": paid };

const app = express();
const planOf = (req) => plans[req.get("x-api-key")];
app.use((req, res, next) => (planOf(req) ? next() : res.sendStatus(401)));
app.use(
  rateLimit(planOf, {
    key: (req) => req.get("x-api-key"),
    cost: (req) => (req.path === "/reports" ? 5 : 1),
    refundIf: (status) => status === 404,
  }),
);
app.get("/reports", (_req, res) => res.json({ report: 1 }));

const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${server.address().port}`;

/** Calls the API until it answers. Returns how often it was refused. */
async function call(path, key) {
  for (let refusals = 0; ; refusals += 1) {
    const response = await fetch(url + path, { headers: { "x-api-key": key } });
    await response.text();
    if (response.status !== 429) return refusals;
    const seconds = Number(response.headers.get("retry-after"));
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }
}

try {
  for (let i = 0; i < 20; i += 1) await call("/nothing", "k-free"); // each 404 is given back
  let refused = 0;
  for (let i = 0; i < 4; i += 1) refused += await call("/reports", "k-free");
  for (let i = 0; i < 4; i += 1) assert.equal(await call("/reports", "k-paid"), 0);
  console.log(`free: ${refused} refused, paid: none`);
  assert.ok(refused > 0);
} finally {
  server.close();
  await pg.close();
}
