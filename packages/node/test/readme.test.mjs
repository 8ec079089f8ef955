// What the README's examples print, each in a process and a Redis of its own. Of every change `make test-readme` runs them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { entry, redis, redisServer, run, soak } from "./support.mjs";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const examples = [...readme.matchAll(/^```js\n(.*?)^```/gms)].map(([, code]) => code);
const printed = [
  /^charged\ncome back in \d+(\.\d+)? ms$/,
  /^burst window$/,
  /^true\nfalse\ndone\n2$/,
  /^1\ntrue\nreleased$/,
  /^queued 0 true\nrefused\ngranted\nno_ticket$/,
  /^run\nwait true\nrun$/,
  /^settled\ntrue$/,
  /^settled$/,
  /^tpm 0\npoints$/,
  /^done\nfalse user-7\n998$/,
  /^wait 0\nwait 0$/,
  /^true 49975000\nsettled\nalready\n49976500$/,
  /^true window\nfalse\nblocked$/,
  /^5\n30000\npaused true\nnull true$/,
  /^settled\n2000 20000\npaused$/,
  /^reports shopify-44\nran$/,
  /^true api 0\nanswered$/,
  /^conductor\/workflow\/shop-7 run$/,
  /^true\npaused\n20\nrun,run$/,
  /^52\n1\n948$/,
  /^false\ntrue 25 true\nunavailable$/,
  /^true false\ntrue\n1$/,
];

test("the README has its examples", () => assert.equal(examples.length, printed.length));

for (const [i, example] of examples.entries()) {
  soak(`README, example ${i + 1}`, async (t) => {
    const own = await redisServer(t);
    const code = example
      .replace('"paddlegate"', JSON.stringify(entry))
      // With a time-out that a machine that stalls for a second does not reach.
      .replace(
        /new Paddlegate\(("redis:\/\/localhost:6379\/0")?\)/g,
        `new Paddlegate("${own.url}", { timeoutMs: 10_000 })`,
      );
    const { output, status } = await run(code, { PADDLEGATE_URL: own.url });
    assert.equal(status, 0);
    assert.match(output, printed[i]);
    assert.equal(redis(own.url, "dbsize") === "0", code.includes('"memory://"'));
  });
}
