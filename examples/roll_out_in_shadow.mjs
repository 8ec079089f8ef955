// A new limit per customer of an API: two numbers in shadow on the same calls, then one of them in force, customer by customer.
// Guide: docs/src/guides/roll-out-in-shadow.md
import { Paddlegate } from "paddlegate";

const pg = new Paddlegate(); // PADDLEGATE_URL, or this process
const trials = [20, 25].map((limit) => ({
  limit,
  limiter: pg.window(`api-${limit}`, limit, "minute", { keyed: true, mode: "shadow" }),
  affected: new Set(),
}));

// Today's calls. None is refused.
const calls = { acme: 30, globex: 12, initech: 25 };
for (const [customer, count] of Object.entries(calls)) {
  for (let call = 0; call < count; call++) {
    for (const { limiter, affected } of trials) {
      const { wouldRefuse } = await limiter.tryAcquire({ key: customer });
      if (wouldRefuse) affected.add(customer);
    }
  }
}
const report = [];
for (const { limit, limiter, affected } of trials) {
  const { granted, shadowRefused } = await limiter.stats();
  report.push(
    `${limit}: ${shadowRefused} of ${granted + shadowRefused}, ${[...affected].join(" and ")}`,
  );
}
console.log(report[0]); // -> 20: 15 of 67, acme and initech
console.log(report[1]); // -> 25: 5 of 67, acme

// 25 it is. First for one customer and one hour, in all processes and without a deployment.
const [, { limiter }] = trials;
await limiter.override({ mode: "enforce", expiresInMs: 3_600_000, key: "acme" });
console.log(await limiter.allow({ key: "acme" }), await limiter.allow({ key: "initech" })); // -> false true

// Then in the code. What was counted in shadow counts.
const enforced = pg.window("api-25", 25, "minute", { keyed: true });
console.log(await enforced.allow({ key: "initech" }), await enforced.allow({ key: "globex" })); // -> false true
await enforced.restore({ mode: true, key: "acme" });
await pg.close();
