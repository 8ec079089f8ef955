// What the socket goes through: servers that refuse, are silent, restart, ask for a password or for TLS.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import test from "node:test";
import { DataError, Paddlegate, UnavailableError } from "../index.mjs";
import {
  block,
  entry,
  freePort,
  isSoak,
  redis,
  redisSentinel,
  redisServer,
  required,
  run,
  server,
  unique,
  until,
} from "./support.mjs";

const url = required("PADDLEGATE_TEST_URL");
const patient = { timeoutMs: 10_000 };

test("a refused connection fails at once and has not counted", async () => {
  const limiter = new Paddlegate(`redis://127.0.0.1:${await freePort()}`, patient).window(
    "x",
    1,
    1,
  );
  const began = performance.now();
  await assert.rejects(limiter.allow(), (error) => {
    assert.ok(error instanceof UnavailableError);
    assert.equal(error.code, "UNAVAILABLE");
    assert.equal(error.mayHaveCounted, false);
    assert.equal(error.cause.code, "ECONNREFUSED");
    return true;
  });
  assert.ok(performance.now() - began < 5_000);
});

test("the next node of the url is tried", async () => {
  const { host } = new URL(url);
  const pg = new Paddlegate(`redis://127.0.0.1:${await freePort()},${host}`, patient);
  assert.equal(await pg.window(unique(), 1, 60).allow(), true);
});

test("a silent server fails by the deadline and may have counted", async (t) => {
  const limiter = new Paddlegate(await server(t, () => {}), { timeoutMs: 300 }).window("x", 1, 1);
  const began = performance.now();
  const calls = [limiter.allow(), limiter.peek(), limiter.reset()];
  for (const call of calls) {
    await assert.rejects(call, { name: "UnavailableError", mayHaveCounted: true });
  }
  const took = performance.now() - began;
  assert.ok(took >= 299 && took < 6_000, `took=${took}`);
});

test("a thousand calls at a silent server are all sent at once, and all end", async (t) => {
  let sent = "";
  const silent = await server(t, (socket) =>
    socket.on("data", (bytes) => {
      sent += bytes;
    }),
  );
  // What a machine that stalls could not send in time would not be sent at all.
  const timeoutMs = isSoak ? 1_000 : 3_000;
  const limiter = new Paddlegate(silent, { timeoutMs }).window("x", 1, 1);
  const began = performance.now();
  const verbs = ["allow", "tryAcquire", "acquire", "peek"];
  const calls = Array.from({ length: 1_000 }, (_, i) => limiter[verbs[i % 4]]());
  const ends = await Promise.allSettled(calls);
  const took = performance.now() - began;
  assert.ok(ends.every(({ reason }) => reason instanceof UnavailableError));
  // None has waited for the end of another one.
  assert.equal(sent.match(/EVALSHA/g).length, 1_000);
  if (isSoak) assert.ok(took <= 1.5 * timeoutMs, `took=${took}`);
});

test("a server that never shakes hands fails by the deadline and has not counted", async (t) => {
  const silent = await server(t, () => {});
  const limiter = new Paddlegate(silent.replace("redis", "rediss"), { timeoutMs: 300 }).window(
    "x",
    1,
    1,
  );
  await assert.rejects(limiter.allow(), { name: "UnavailableError", mayHaveCounted: false });
});

test("each call has its own deadline", async (t) => {
  // Answers the second command of a connection, and no other.
  const url = await server(t, (socket) =>
    socket.once("data", () => socket.once("data", () => socket.write(":1\r\n"))),
  );
  const limiter = new Paddlegate(url, { timeoutMs: 3000 }).window("x", 1, 1);
  const began = performance.now();
  const first = limiter.reset();
  setTimeout(() => limiter.reset().catch(() => {}), 1000);
  await first;
  await assert.rejects(limiter.reset(), { mayHaveCounted: true });
  const took = performance.now() - began;
  assert.ok(took >= 3950 && took < 80_000, `took=${took}`);
});

test("what a busy program could not send, or read, in time still counts", async () => {
  const [fresh, trusted, unused, sent] = Array.from({ length: 4 }, () =>
    new Paddlegate(url, { timeoutMs: 1500 }).window(unique(), 5, 60),
  );
  // The server may have to get the script of a first call and that of the next.
  for (const limiter of [unused, sent]) {
    await limiter.allow();
    await limiter.allow();
  }
  await new Promise((resolve) => setTimeout(resolve, 150));
  await trusted.allow();
  const call = sent.allow();
  await new Promise(setImmediate);
  const calls = [fresh, trusted, unused].flatMap((limiter) => [limiter.allow(), limiter.allow()]);
  block(2000);
  assert.deepEqual(await Promise.all([call, ...calls]), Array(7).fill(true));
});

test("what was not sent in time since the program was busy is not sent at all", async () => {
  const limiter = new Paddlegate(url, { timeoutMs: 1500 }).window(unique(), 5, 60);
  const call = limiter.allow();
  // By then it connects.
  process.nextTick(() => process.nextTick(block, 2000));
  await assert.rejects(call, { name: "UnavailableError", mayHaveCounted: false });
  assert.equal((await limiter.peek({ cost: 0 })).remaining, 5);
});

test("a busy program gives up a silent server", async (t) => {
  const limiter = new Paddlegate(await server(t, () => {}), { timeoutMs: 300 }).window("x", 1, 1);
  const call = limiter.allow();
  block(500);
  await assert.rejects(call, { name: "UnavailableError", mayHaveCounted: true });
});

test("what is no redis is an error, not a grant", async (t) => {
  const answers = [
    "HTTP/1.1 400 Bad Request\r\n\r\n",
    "*6\r\n:9\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n",
    "*1\r\n:1\r\n",
    "$-1\r\n",
  ];
  for (const answer of answers) {
    const url = await server(t, (socket) => socket.on("data", () => socket.write(answer)));
    await assert.rejects(new Paddlegate(url, patient).window("x", 1, 1).allow(), (error) => {
      assert.ok(error instanceof UnavailableError || error instanceof DataError, error.stack);
      return true;
    });
  }
});

/** A server that gives `answer` once it has been asked for 1000 resets. */
const afterThousand = (t, answer) =>
  server(t, (socket) => {
    let asked = 0;
    socket.setNoDelay().on("data", (chunk) => {
      asked += String(chunk).split("\r\nEVALSHA").length - 1;
      if (asked === 1000) answer(socket);
    });
  });
const thousandResets = (url) => {
  const limiter = new Paddlegate(url, patient).window("x", 1, 1);
  return Promise.all(Array.from({ length: 1000 }, () => limiter.reset()));
};

test("answers are read in any pieces", async (t) => {
  const url = await afterThousand(t, async (socket) => {
    for (let i = 0; i < 500; i += 1) {
      socket.write(":1\r\n:1");
      await new Promise(setImmediate);
      socket.write("\r\n");
    }
  });
  await thousandResets(url);
});

test("answers count that came with what is no answer", async (t) => {
  await thousandResets(
    await afterThousand(t, (socket) => socket.write(`${":1\r\n".repeat(1000)}+OK\r\n`)),
  );
});

test("a connection that ends before the answer may have counted", async (t) => {
  const url = await server(t, (socket) => socket.once("data", () => socket.end()));
  await assert.rejects(new Paddlegate(url, patient).window("x", 1, 1).allow(), {
    name: "UnavailableError",
    mayHaveCounted: true,
  });
});

test("after a restart the next call connects anew", async (t) => {
  const own = await redisServer(t);
  const limiter = new Paddlegate(own.url, patient).window(unique(), 100, 60);
  assert.equal(await limiter.allow(), true);
  await own.stop();
  await assert.rejects(limiter.allow(), { name: "UnavailableError", mayHaveCounted: false });
  await own.start();
  assert.equal(await limiter.allow(), true);
});

test("a restart that the program could not notice is noticed by the next call", async (t) => {
  const own = await redisServer(t);
  const limiter = new Paddlegate(own.url, patient).window(unique(), 100, 60);
  assert.equal(await limiter.allow(), true);
  execFileSync("bash", [
    "-c",
    `sleep 0.15; kill -9 ${own.pid}; while kill -0 ${own.pid} 2>/dev/null && ! grep -q '^State:.Z' /proc/${own.pid}/status; do :; done
    redis-server --port ${own.port} --bind 127.0.0.1 --save '' --dir ${own.folder} --daemonize yes --pidfile ${own.folder}/pid >/dev/null
    until redis-cli -p ${own.port} ping >/dev/null 2>&1; do :; done`,
  ]);
  t.after(() => redis(own.url, "shutdown", "nosave"));
  assert.equal(await limiter.allow(), true);
});

test("SCRIPT FLUSH between calls goes unnoticed", async () => {
  const limiter = new Paddlegate(url, patient).window(unique(), 1000, 60);
  for (let i = 0; i < 5; i += 1) {
    redis(url, "script", "flush");
    const answers = await Promise.all(Array.from({ length: 64 }, () => limiter.allow()));
    assert.ok(answers.every(Boolean));
  }
  assert.ok((await limiter.peek({ cost: 0 })).remaining === 1000 - 5 * 64);
});

test("a value of another program under our key is an error, and reset mends it", async (t) => {
  const own = await redisServer(t);
  const limiter = new Paddlegate(own.url, patient).leaky("x", 5, 60);
  await limiter.allow();
  const key = redis(own.url, "keys", "*:s:*");
  for (const poison of [
    ["set", key, "poison"],
    ["lpush", key, "1"],
  ]) {
    redis(own.url, "del", key);
    redis(own.url, ...poison);
    await assert.rejects(
      limiter.allow(),
      (error) => error instanceof DataError && error.code === "DATA",
    );
  }
  await limiter.reset();
  assert.equal(await limiter.allow(), true);
});

test("password, database and a unix socket", async (t) => {
  const own = await redisServer(t, ["--requirepass", "s3cret/@", "--unixsocket", "redis.sock"]);
  const withLogin = own.url.replace("//", "//:s3cret%2F%40@");
  const name = unique();
  assert.equal(await new Paddlegate(`${withLogin}/3`, patient).window(name, 1, 60).allow(), true);
  assert.equal(redis(`${withLogin}/3`, "dbsize"), "4");
  assert.equal(redis(`${withLogin}/0`, "dbsize"), "0");
  assert.equal(await new Paddlegate(`${withLogin}/4`, patient).window(name, 1, 60).allow(), true);
  for (const wrong of [own.url, own.url.replace("//", "//:wrong@"), `${withLogin}/99`]) {
    await assert.rejects(new Paddlegate(wrong, patient).window(name, 1, 60).allow(), (error) => {
      assert.ok(error instanceof UnavailableError, error.stack);
      assert.equal(error.mayHaveCounted, false);
      assert.ok(!error.message.includes("s3cret"));
      return true;
    });
  }
  redis(withLogin, "config", "set", "requirepass", "");
  const unix = new Paddlegate(`unix://${join(own.folder, "redis.sock")}?db=3`, patient);
  assert.equal(await unix.window(name, 1, 60).allow(), false);
});

test("rediss:// checks the certificate", async (t) => {
  const port = await freePort();
  const own = await redisServer(t);
  const file = (name) => join(own.folder, name);
  const openssl = (...words) =>
    execFileSync("openssl", words, { cwd: own.folder, stdio: "ignore" });
  const request = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl(...request, "-x509", "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=ca");
  openssl(
    ...request,
    "-keyout",
    "key",
    "-out",
    "csr",
    "-subj",
    "/CN=localhost",
    "-addext",
    "subjectAltName=DNS:localhost,IP:127.0.0.1",
  );
  openssl(
    "x509",
    "-req",
    "-in",
    "csr",
    "-CA",
    "ca.crt",
    "-CAkey",
    "ca.key",
    "-out",
    "crt",
    "-copy_extensions",
    "copy",
  );
  for (const [option, value] of [
    ["tls-cert-file", file("crt")],
    ["tls-key-file", file("key")],
    ["tls-ca-cert-file", file("ca.crt")],
    ["tls-auth-clients", "no"],
    ["tls-port", String(port)],
  ]) {
    redis(own.url, "config", "set", option, value);
  }
  const code = `
    import { Paddlegate } from ${JSON.stringify(entry)};
    for (const host of ["localhost", "127.0.0.1"]) {
      const url = "rediss://" + host + ":${port}" + (process.env.TLS_OPTIONS ?? "");
      const limiter = new Paddlegate(url, { timeoutMs: 10000 }).window(host, 1000, 60);
      const answers = await Promise.all(Array.from({ length: 64 }, () => limiter.allow())).catch((error) => error.cause.code);
      console.log(Array.isArray(answers) ? answers.filter(Boolean).length : answers);
    }`;
  const trusting = await run(code, { NODE_EXTRA_CA_CERTS: file("ca.crt") });
  assert.equal(trusting.output, "64\n64");
  const strict = await run(code);
  assert.match(strict.output, /^[A-Z_]*(CERT|SIGNATURE|ISSUER)[A-Z_]*\n/);
  const of = async (options) => (await run(code, { TLS_OPTIONS: options })).output;
  assert.equal(await of("?ssl_cert_reqs=none"), "64\n64");
  const trusted = `?ssl_ca_certs=${file("ca.crt")}`;
  assert.equal(await of(trusted), "64\n64");
  assert.match(await of("?ssl_ca_certs=/nowhere.pem"), /^ENOENT\n/);
  redis(own.url, "config", "set", "tls-auth-clients", "yes");
  assert.doesNotMatch(await of(trusted), /64/);
  assert.equal(
    await of(`${trusted}&ssl_certfile=${file("crt")}&ssl_keyfile=${file("key")}`),
    "64\n64",
  );
});

test("sentinels name the master before and after a failover", async (t) => {
  const [first, second] = [await redisServer(t), await redisServer(t)];
  redis(first.url, "config", "set", "repl-diskless-sync-delay", "0");
  redis(second.url, "replicaof", "127.0.0.1", String(first.port));
  const sentinel = await redisSentinel(t, first.port);
  const nobody = `127.0.0.1:${await freePort()}`;
  const pg = new Paddlegate(`redis+sentinel://${nobody},127.0.0.1:${sentinel.port}/main`, patient);
  const slots = pg.concurrent("slots", 1, { waitTimeoutMs: 50_000 });
  const holder = await slots.acquire();
  const waiting = slots.acquire();
  await until(async () => (await slots.stats()).tickets === 1);
  const offset = (url) => /master_repl_offset:\d+/.exec(redis(url, "info", "replication"))[0];
  await until(() => offset(first.url) === offset(second.url));
  await until(() => redis(sentinel.url, "sentinel", "failover", "main") === "OK", 50);
  const role = ({ url }) => {
    try {
      return redis(url, "role").split("\n")[0];
    } catch {
      return "the sentinel has closed the connection";
    }
  };
  await until(() => role(second) === "master" && role(first) === "slave", 50);
  // A call that meets the old master fails without counting.
  await until(() =>
    holder.release().then(
      (answer) => answer === "released",
      () => false,
    ),
  );
  await (await waiting).release();
  await first.stop();
  assert.equal((await slots.stats()).leases, 0);
  const unknown = new Paddlegate(`redis+sentinel://127.0.0.1:${sentinel.port}/other`, patient);
  await assert.rejects(unknown.window("x", 1, 1).allow(), (error) => {
    assert.ok(error instanceof UnavailableError, error.stack);
    assert.match(error.message, /master=other/);
    return true;
  });
});

test("a server that closes while nothing is asked is forgotten quietly", async (t) => {
  let closed;
  const url = await server(t, (socket) => {
    socket.once("data", () => socket.end(":1\r\n"));
    closed = once(socket, "close");
  });
  const limiter = new Paddlegate(url, patient).window("x", 1, 1);
  await limiter.reset();
  await closed;
  await new Promise(setImmediate);
  await limiter.reset();
});
