import discord from "./discord.js";

export const { limited } = discord;
