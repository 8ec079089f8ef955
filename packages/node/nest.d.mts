export * from "./nest.js";
