// What the adapters for web servers share, and what each has of its own. That they limit is shown by the adapter kit.
import "reflect-metadata";
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import test from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Controller, Get, Module, UseGuards } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import * as ofExpress from "../express.mjs";
import * as ofFastify from "../fastify.mjs";
import * as ofHono from "../hono.mjs";
import { InvalidError, Paddlegate, window } from "../index.mjs";
import * as ofNest from "../nest.mjs";
import * as ofTesting from "../testing.mjs";
import { until } from "./support.mjs";

const pg = new Paddlegate("memory://");
let names = 0;
const hour = (limit, options) => pg.window(`web-${names++}`, limit, "hour", options);
const lease = () => pg.concurrent(`web-${names++}`, 1);
const leases = async (limiter) => (await limiter.inspect()).leaseCount;

/** Sends requests to a server one after the other; resolves with their statuses. */
async function statuses(t, server, paths, headers = {}) {
  if (!server.listening) server.listen(0, "127.0.0.1");
  if (!server.listening) await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address();
  const all = [];
  for (const path of paths) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      headers: { connection: "close", ...headers },
    });
    await response.text();
    all.push(response.status);
  }
  return all;
}

test("import and require give the same", () => {
  const require = createRequire(import.meta.url);
  const all = { express: ofExpress, fastify: ofFastify, hono: ofHono, nest: ofNest };
  for (const [name, imported] of Object.entries({ ...all, testing: ofTesting })) {
    const required = require(`../${name}.js`);
    const same = Object.keys(imported).filter((it) => imported[it] === required[it]);
    assert.deepEqual(same, Object.keys(imported), name);
    assert.deepEqual([...new Set(Object.keys(required))].sort(), same.sort(), name);
  }
  assert.equal(require("../fastify.js"), ofFastify.default);
});

test("a wrong option is an error when the adapter is made, with its name", async () => {
  const limiter = hour(1);
  const wrong = [
    ["limiter", undefined],
    ["limiter", {}],
    ["key", limiter, { key: () => "a" }],
    ["key", hour(1, { keyed: true }).withKey("a"), { key: () => "b" }],
    ["max", limiter, { max: 1 }],
    ["fields", limiter, { fields: "y" }],
    ["fields", limiter, { fields: true }],
    ["status", limiter, { status: 200 }],
    ["status", limiter, { status: "429" }],
    ["wait", limiter, { wait: "1" }],
    ["wait", limiter, { wait: -1 }],
    ["overLimit", limiter, { overLimit: "no" }],
    ["skip", limiter, { skip: true }],
    ["refundIf", limiter, { refundIf: 404 }],
    ["trustedProxies", limiter, { trustedProxies: ["nginx"] }],
    ["options", limiter, 3],
  ];
  const fails = (argument) => (error) =>
    error instanceof InvalidError && error.argument === argument;
  for (const [argument, of, options] of wrong) {
    assert.throws(() => ofExpress.rateLimit(of, options), fails(argument), argument);
    assert.throws(() => ofHono.rateLimit(of, options), fails(argument), argument);
    assert.throws(() => ofHono.limitHandler(of, () => {}, options), fails(argument), argument);
    if (argument === "options" || of === undefined) continue;
    const fastify = Fastify();
    fastify.register(ofFastify.default, { limiter: of, ...options });
    await assert.rejects(fastify.ready(), fails(argument), argument);
  }
});

test("express: an error of an option goes to the application", async (t) => {
  const app = express();
  const key = () => {
    throw new Error("no user");
  };
  app.use(ofExpress.rateLimit(hour(1, { keyed: true }), { key }));
  app.use((error, _req, res, _next) => res.status(418).end(error.message));
  assert.deepEqual(await statuses(t, createServer(app), ["/"]), [418]);
});

test("express: overLimit may answer by itself, and the permit is the request's", async (t) => {
  const app = express();
  const overLimit = (_req, { limiter }, res) => void res.status(303).end(limiter);
  app.use(ofExpress.rateLimit(hour(1), { overLimit }));
  app.get("/", (req, res) => res.status(req.permit.decision.allowed ? 201 : 500).end());
  assert.deepEqual(await statuses(t, createServer(app), ["/", "/"]), [201, 303]);
});

test("a limiter of several that decide together, of the request", async (t) => {
  const [all, each] = [hour(3), hour(1, { keyed: true })];
  const app = express();
  app.use(ofExpress.rateLimit((req) => pg.together([all, each.withKey(req.path)])));
  app.use((_req, res) => res.end());
  const paths = ["/a", "/a", "/b", "/c", "/d"];
  assert.deepEqual(await statuses(t, createServer(app), paths), [200, 429, 200, 200, 429]);
});

test("a share that a stranger names is never an error", async (t) => {
  const app = express();
  app.use(ofExpress.rateLimit(hour(9), { share: (req) => req.query.tenant, wait: 1 }));
  app.use((_req, res) => res.end());
  const paths = [
    "/",
    "/?tenant=a",
    "/?tenant=a&tenant=b",
    "/?tenant=%00",
    `/?tenant=${"a".repeat(500)}`,
  ];
  assert.deepEqual(await statuses(t, createServer(app), paths), [200, 200, 200, 200, 200]);
});

test("a key that is a list or an object of a query has a limit", async (t) => {
  const app = express();
  app.set("query parser", "extended");
  app.use(ofExpress.rateLimit(hour(1, { keyed: true }), { key: (req) => req.query.key }));
  app.use((_req, res) => res.end());
  const paths = ["/?key=a&key=b", "/?key=a&key=b", "/?key[x]=1", "/?key[x]=1", "/?key=", "/?key="];
  const expected = [200, 429, 200, 429, 200, 429];
  assert.deepEqual(await statuses(t, createServer(app), paths), expected);
});

test("fastify: a route chooses its limiter, options or none", async (t) => {
  const fastify = Fastify();
  t.after(() => fastify.close());
  await fastify.register(ofFastify.default, { limiter: hour(1), status: 420 });
  const route = (path, rateLimit) =>
    fastify.get(path, { config: { rateLimit } }, async ({ permit }) => String(permit?.id));
  route("/same");
  route("/own", hour(1));
  route("/dear", { cost: 2, limiter: hour(3) });
  route("/free", false);
  const status = async (url) => (await fastify.inject(url)).statusCode;
  const all = ["/same", "/same", "/unknown", "/own", "/own", "/dear", "/dear", "/free", "/free"];
  const expected = [200, 420, 420, 200, 420, 200, 420, 200, 200];
  for (const [i, url] of all.entries()) assert.equal(await status(url), expected[i], url);

  const wrong = Fastify();
  wrong.register(ofFastify.default, { limiter: hour(1) });
  wrong.register(async () => wrong.get("/", { config: { rateLimit: { max: 1 } } }, () => ""));
  await assert.rejects(wrong.ready(), { argument: "max" });
});

test("fastify: without global only routes that say so are limited, after the hook", async (t) => {
  const fastify = Fastify();
  t.after(() => fastify.close());
  const limiter = lease();
  const options = { limiter, global: false, hook: "preHandler" };
  await fastify.register(ofFastify.rateLimit, options);
  fastify.get("/", async ({ permit }) => String(permit));
  fastify.get("/limited", { config: { rateLimit: {} } }, async () => leases(limiter));
  assert.equal((await fastify.inject("/")).body, "null");
  assert.equal((await fastify.inject("/limited")).body, "1");
  await until(async () => (await leases(limiter)) === 0);
});

test("hono: without a server of Node a lease lasts until the body ends, is left or is dropped", async () => {
  const limiter = lease();
  let body;
  const begun = () => {
    const { readable, writable } = new TransformStream();
    body = writable.getWriter();
    body.write(new TextEncoder().encode("begun")).catch(() => {});
    return new Response(readable);
  };
  const app = new Hono();
  app.use("/dropped", async (c, next) => {
    await next();
    c.res = undefined;
    c.res = new Response(null, { status: 304 });
  });
  app.use(ofHono.rateLimit(limiter));
  app.get("/", begun);
  app.get("/dropped", (c) => c.text("dropped"));
  app.get("/fails", () => {
    throw new Error("failed");
  });
  app.onError((_error, c) => c.text("failed", 500));
  const limited = ofHono.limitHandler(limiter, begun);
  const request = (path, init) => new Request(`http://localhost${path}`, init);
  for (const fetch of [app.fetch, limited]) {
    const response = await fetch(request("/"));
    assert.equal(await leases(limiter), 1);
    const { status, headers } = await fetch(request("/"));
    assert.deepEqual([status, headers.has("retry-after")], [429, true]);
    const text = response.text();
    body.close();
    assert.equal(await text, "begun");
    await until(async () => (await leases(limiter)) === 0);

    await (await fetch(request("/"))).body.cancel();
    await until(async () => (await leases(limiter)) === 0);

    const left = new AbortController();
    await fetch(request("/", { signal: left.signal }));
    assert.equal(await leases(limiter), 1);
    left.abort();
    await until(async () => (await leases(limiter)) === 0);

    await fetch(request("/", { method: "HEAD" }));
    await until(async () => (await leases(limiter)) === 0);
  }
  const failed = await app.fetch(request("/fails"));
  assert.deepEqual([failed.status, await failed.text()], [500, "failed"]);
  await until(async () => (await leases(limiter)) === 0);
  assert.equal((await app.fetch(request("/dropped"))).status, 304);
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  await until(async () => {
    collect();
    return (await leases(limiter)) === 0;
  });
});

test("hono: overLimit may return a response, and fields that cannot be changed are copied", async () => {
  const overLimit = (c) => c.redirect("/slow");
  const app = new Hono();
  app.use(ofHono.rateLimit(hour(1), { overLimit }));
  app.get("/", () => Response.redirect("http://localhost/other", 302));
  const [granted, refused] = [await app.request("/"), await app.request("/")];
  assert.deepEqual(
    [granted.status, granted.headers.get("location")],
    [302, "http://localhost/other"],
  );
  assert.ok(granted.headers.has("ratelimit"));
  assert.deepEqual([refused.status, refused.headers.get("location")], [302, "/slow"]);
  assert.ok(refused.headers.has("retry-after"));
});

test("hono: a keyed limiter without an address needs a key", async () => {
  const limited = ofHono.limitHandler(hour(1, { keyed: true }), () => new Response());
  await assert.rejects(limited(new Request("http://localhost")), { argument: "key" });
  const key = (request) => request.headers.get("x-key");
  const keyed = ofHono.limitHandler(hour(1, { keyed: true }), () => new Response(), { key });
  const of = async (headers) => (await keyed(new Request("http://localhost", { headers }))).status;
  assert.deepEqual(
    [await of({ "x-key": "a" }), await of({ "x-key": "a" }), await of({})],
    [200, 429, 200],
  );
});

/** An application of Nest; `limited` gives its routes their limits. */
async function nest(t, imports, limited) {
  class Routes {}
  for (const name of ["one", "two", "free", "both"]) {
    Routes.prototype[name] = () => name;
    const property = Object.getOwnPropertyDescriptor(Routes.prototype, name);
    Get(`/${name}`)(Routes.prototype, name, property);
    limited[name]?.(Routes.prototype, name, property);
  }
  Controller()(Routes);
  limited.all?.(Routes);
  class App {}
  Module({ imports, controllers: [Routes] })(App);
  const app = await NestFactory.create(App, { logger: false });
  t.after(() => app.close());
  await app.listen(0, "127.0.0.1");
  return app;
}

test("nest: limiters by name; a route has its own limit in place of its controller's, or none", async (t) => {
  const { Limited, LimitedGuard, PaddlegateModule } = ofNest;
  const limits = { one: window(1, "hour"), two: { window: [2, "hour"] } };
  const app = await nest(t, [PaddlegateModule.forRoot({ limits, guard: { status: 420 } })], {
    all: Limited("one"),
    two: Limited("two", { status: 421 }),
    free: Limited(false),
    both: UseGuards(LimitedGuard),
  });
  const paths = ["/one", "/both", "/two", "/two", "/two", "/free", "/free"];
  const expected = [200, 420, 200, 200, 421, 200, 200];
  assert.deepEqual(await statuses(t, app.getHttpServer(), paths), expected);
});

test("nest: a guard of the application and one of the route are one limit", async (t) => {
  const { Limited, LimitedGuard, PaddlegateModule } = ofNest;
  const store = new Paddlegate("memory://");
  const useFactory = async () => ({ store, limits: { one: window(2, "hour") } });
  const app = await nest(t, [PaddlegateModule.forRootAsync({ useFactory })], {
    all: Limited("one"),
    both: UseGuards(LimitedGuard),
  });
  assert.equal(app.get(Paddlegate), store);
  const expected = [200, 200, 429];
  const paths = ["/both", "/one", "/one"];
  assert.deepEqual(await statuses(t, app.getHttpServer(), paths), expected);
  await app.close();
  // It was given, so it is not closed.
  assert.equal(await store.window("x", 1, "hour").allow(), true);
});

test("nest: its own store is closed with the application; an unknown name is an error", async (t) => {
  const { Limited, PaddlegateModule } = ofNest;
  const app = await nest(t, [PaddlegateModule.forRoot({ url: "memory://" })], {
    all: Limited("none"),
  });
  assert.deepEqual(await statuses(t, app.getHttpServer(), ["/one"]), [500]);
  const store = app.get(Paddlegate);
  await app.close();
  await assert.rejects(store.window("x", 1, "hour").allow(), { argument: "store" });
});
