export * from "./discord.js";
