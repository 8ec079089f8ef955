// What several test files need: servers, names, processes.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { Paddlegate } from "../index.mjs";

export const entry = new URL("../index.mjs", import.meta.url).href;
export const root = fileURLToPath(new URL("../", import.meta.url));

/** A test that takes long, or judges the time of a machine. */
export const isSoak = process.env.PADDLEGATE_SOAK === "1";
export const soak = isSoak ? test : () => {};

/** Holds up this program, without a load on the machine. */
export const block = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** The value of an environment variable; the tests fail without it. */
export function required(name) {
  const value = process.env[name];
  if (!value)
    throw new Error(
      `${name} is not set; run the tests with scripts/with-redis.sh and scripts/with-cluster.sh`,
    );
  return value;
}

const urls = {
  memory: () => "memory://",
  redis: () => required("PADDLEGATE_TEST_URL"),
  cluster: () => required("PADDLEGATE_TEST_CLUSTER_URL"),
};
/** A store of its own connections, with the clock of a test; in memory also of its own limits. */
export const withClock = (store, clock) =>
  new Paddlegate(urls[store](), { timeoutMs: 10_000, clock });

let names = 0;
/** A name that no limiter had before. */
export const unique = (prefix = "node") => {
  names += 1;
  return `${prefix}-${process.pid}-${Date.now()}-${names}`;
};

/** Waits until `isTrue` gives true, which it must within ten seconds, or those given. */
export async function until(isTrue, seconds = 10) {
  const began = performance.now();
  while (!(await isTrue())) {
    if (performance.now() - began > seconds * 1000) throw new Error(`never came true: ${isTrue}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A redis-server of this test's own, ended with it. */
export async function redisServer(t, options = []) {
  const folder = mkdtempSync(join(tmpdir(), "paddlegate-"));
  const port = await freePort();
  const server = { folder, port, url: `redis://127.0.0.1:${port}`, start, stop };
  let running;
  async function start() {
    const args = [
      "--port",
      String(port),
      "--bind",
      "127.0.0.1",
      "--dir",
      folder,
      "--save",
      "",
      ...options,
    ];
    running = spawn("redis-server", args, { stdio: "ignore" });
    server.pid = running.pid;
    while (!(await accepts(port))) {
      if (running.exitCode !== null) throw new Error("redis-server did not start");
    }
  }
  async function stop(signal = "SIGKILL") {
    if (running.exitCode === null && running.signalCode === null) {
      running.kill(signal);
      await once(running, "exit");
    }
  }
  t.after(async () => {
    await stop();
    rmSync(folder, { recursive: true });
  });
  await start();
  return server;
}

/** A Redis Sentinel that watches a server under the name `main`, once it knows a replica of it. Ended with the test. */
export async function redisSentinel(t, watched) {
  const folder = mkdtempSync(join(tmpdir(), "paddlegate-"));
  const port = await freePort();
  const file = join(folder, "sentinel.conf");
  const lines = [`port ${port}`, "bind 127.0.0.1", `sentinel monitor main 127.0.0.1 ${watched} 1`];
  writeFileSync(file, [...lines, "sentinel down-after-milliseconds main 600000", ""].join("\n"));
  const running = spawn("redis-server", [file, "--sentinel"], { stdio: "ignore" });
  t.after(async () => {
    running.kill("SIGKILL");
    await once(running, "exit");
    rmSync(folder, { recursive: true });
  });
  const url = `redis://127.0.0.1:${port}`;
  await until(() => accepts(port));
  await until(() => redis(url, "info", "sentinel").includes("slaves=1"), 50);
  return { port, url };
}

/** What redis-cli prints. */
export function redis(url, ...words) {
  const { hostname, port, password, pathname } = new URL(url);
  const login = password ? ["--no-auth-warning", "-a", decodeURIComponent(password)] : [];
  const where = ["-h", hostname, "-p", port, "-n", pathname.slice(1) || "0"];
  return execFileSync("redis-cli", [...login, ...where, ...words], { encoding: "utf8" }).trim();
}

/** A server that does with each connection what `behave` does. */
export async function server(t, behave) {
  const sockets = new Set();
  const listening = net.createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    behave(socket);
  });
  listening.listen(0, "127.0.0.1");
  await once(listening, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    listening.close();
  });
  return `redis://127.0.0.1:${listening.address().port}`;
}

/**
 * The way to a server. When an answer comes after the promise of `isGranted()` gives true, it ends every connection, so
 * that its calls have no answer; then `isGranted` is null.
 */
export async function proxy(t, url) {
  const { hostname, port } = new URL(url);
  const way = { url: "", isGranted: null };
  const sockets = new Set();
  way.url = await server(t, (client) => {
    const upstream = net.connect(Number(port), hostname);
    for (const end of [client, upstream]) sockets.add(end);
    t.after(() => upstream.destroy());
    client.on("data", (bytes) => upstream.write(bytes)).on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy()).on("error", () => {});
    upstream.on("data", async (bytes) => {
      if (way.isGranted !== null && (await way.isGranted())) {
        way.isGranted = null;
        for (const end of sockets) end.destroy();
      } else client.write(bytes);
    });
  });
  return way;
}

export async function freePort() {
  const taken = net.createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address();
  taken.close();
  await once(taken, "close");
  return port;
}

/** Runs code as a module of a process of its own; gives what it printed and how long it took. */
export async function run(code, environment = {}) {
  const began = performance.now();
  const child = spawn(process.execPath, ["--input-type=module", "--eval", code], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "inherit"],
    // A process that never ends is a failure, not a suite that hangs.
    timeout: 120_000,
    killSignal: "SIGKILL",
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    output += text;
  });
  const [status] = await once(child, "close");
  return { output: output.trim(), status, ms: performance.now() - began };
}

function accepts(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1");
    const done = (accepted) => {
      socket.destroy();
      setTimeout(resolve, accepted ? 0 : 10, accepted);
    };
    socket.once("connect", () => done(true)).once("error", () => done(false));
  });
}
