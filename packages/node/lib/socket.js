"use strict";

const net = require("node:net");
const tls = require("node:tls");

const { withRealTicks } = require("./timers.js");

/** Connects to a node. The socket does not keep the process alive. */
function connect({ host, port, path }, encrypted, options = {}) {
  const where = { ...(path === undefined ? { host, port } : { path }), ...options };
  const socket = withRealTicks(() =>
    encrypted
      ? tls.connect({ ...where, servername: net.isIP(host) ? "" : host })
      : net.connect(where),
  );
  return socket.setNoDelay(true).unref();
}

module.exports = { connect };
