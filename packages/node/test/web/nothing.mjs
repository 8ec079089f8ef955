// A host that limits nothing, in which the adapter kit must find faults.
import express from "express";
import { connect } from "./connect.mjs";

export const { serve, header } = connect(express, () => (_req, _res, next) => next());
