// Protection of a login, as in the first example of rate-limiter-flexible: points for failed attempts, then a block.
// Guide: docs/src/guides/coming-from-rate-limiter-flexible.md
import { Paddlegate } from "paddlegate";

const pg = new Paddlegate(); // PADDLEGATE_URL, or this process
const attempts = pg.window("login", 5, "minute", { keyed: true });

async function login(user, password) {
  const limiter = attempts.withKey(user);
  const decision = await limiter.tryAcquire(); // consume(user, 1)
  if (!decision.allowed) return `refused (${decision.reason})`;
  if (password === "correct") {
    await limiter.reset(); // delete(user)
    return "welcome";
  }
  if (decision.remaining === 0) await limiter.block({ forMs: 900_000 }); // block(user, 900)
  return `wrong, ${decision.remaining} left`;
}

console.log(await login("ada", "guess")); // -> wrong, 4 left
console.log(await login("ada", "correct")); // -> welcome
for (let i = 0; i < 5; i++) await login("ada", "guess");
console.log(await login("ada", "correct")); // -> refused (blocked)
await pg.close();
