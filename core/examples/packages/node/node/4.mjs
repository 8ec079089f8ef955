import { Paddlegate } from "paddlegate";

const erp = new Paddlegate().concurrent("erp-8", 1);
const { action, permit } = await erp.admit("job-1", { onLimit: "wait" });
console.log(action); // run
const second = await erp.admit("job-2", { onLimit: "wait" });
console.log(second.action, second.afterMs > 0); // wait true: ask again after so many milliseconds
await permit.release();
console.log((await erp.admit("job-2", { onLimit: "wait" })).action); // run
