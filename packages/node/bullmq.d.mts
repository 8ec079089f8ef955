export * from "./bullmq.js";
