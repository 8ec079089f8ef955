import { Paddlegate } from "paddlegate";

const gate = new Paddlegate().gate({
  RateLimitControlList: [{ Url: "https://example.com/api/*", SlotName: "api" }],
  RateLimitControlSlotList: [{ Name: "api", ActionsPerSecond: 20, DelayMsOnOverflowSecond: 250 }],
});
const { allowed, slot, delayMs } = await gate.admit({ url: "https://example.com/api/orders" });
console.log(allowed, slot, delayMs); // true api 0
console.log(await gate.withinLimit({ url: "https://example.com/" }, () => "answered")); // answered
