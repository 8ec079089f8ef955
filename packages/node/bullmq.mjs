import bullmq from "./bullmq.js";

export const { limited } = bullmq;
