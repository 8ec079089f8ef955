// The types of paddlegate/testing.
import { type AdapterCase, adapterKit, inMemory, type Served } from "paddlegate/testing";

const { clock, reset, restore } = inMemory({ nowUs: 60_000_000 });
clock.advance("minute");
reset();
restore();
const cases: AdapterCase[] = adapterKit(new URL("file:///koa.mjs"), { url: "redis://localhost" });
for (const { name, run } of cases) await run().catch(() => name);
export const serve = ({ limiter, options, stream }: Served) =>
  typeof limiter === "function" ? options.key : stream();

// @ts-expect-error A module is required.
adapterKit();
// @ts-expect-error There is no such option.
inMemory({ now: 3 });
