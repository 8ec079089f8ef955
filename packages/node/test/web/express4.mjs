// Express 4, as the adapter kit starts it.
import express from "express4";
import { rateLimit } from "../../express.mjs";
import { connect } from "./connect.mjs";

export const { serve, header } = connect(express, rateLimit);
