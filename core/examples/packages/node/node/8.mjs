import { Paddlegate } from "paddlegate";

const limits = new Paddlegate().policyFrom({
  limiters: {
    "shopify-44": { points: { limit: 1000, refill: "20s" }, wait_timeout: "5s" },
    reports: { concurrency: { limit: 2 }, window: { limit: 100, per: "minute" }, on_limit: "ignore" },
  },
});
console.log([...limits.keys()].join(" ")); // reports shopify-44
console.log(await limits.get("reports").withinLimit(() => "ran")); // ran
