"use strict";

const { readFileSync } = require("node:fs");
const net = require("node:net");
const tls = require("node:tls");

const { callNative } = require("./call-native.js");
const { setImmediate, withRealTicks } = require("./timers.js");

/**
 * Connects to a node. With sentinels it asks the one at this address for the master, and connects to that. Calls `use`
 * with each socket, of which the last is that to the server, and `fail` with the error if there is no master. The sockets
 * do not keep the process alive.
 */
function connect(store, node, use, fail, options = {}) {
  const query = store.sentinel();
  const dialed = (where, ownOptions, isServer) => {
    let socket;
    try {
      socket = dial(where, store.tls(), ownOptions);
    } catch (error) {
      // A file could not be read.
      setImmediate(fail, error);
      return null;
    }
    use(socket, isServer);
    return socket;
  };
  if (!query) {
    dialed(node, options, true);
    return;
  }
  const sentinel = dialed(node, {}, false);
  if (sentinel === null) return;
  sentinel.on("data", (arrived) => {
    let master;
    try {
      master = callNative(() => query.receive(arrived));
    } catch (error) {
      fail(new Error(error.message));
    }
    if (!master) return;
    sentinel
      .removeAllListeners()
      .on("error", () => {})
      .destroy();
    dialed(master, options, true);
  });
  sentinel.on("error", fail);
  sentinel.once("close", () => fail(new Error("the sentinel closed the connection")));
  sentinel.write(query.output());
}

function dial({ host, port, path }, certificates, options) {
  const where = { ...(path ? { path } : { host, port }), ...options };
  const socket = withRealTicks(() =>
    certificates
      ? tls.connect({ ...where, ...trust(certificates), servername: net.isIP(host) ? "" : host })
      : net.connect(where),
  );
  return socket.setNoDelay(true).unref();
}

/** The files are read for each connection, because certificates are renewed. */
function trust({ acceptsAny, trustedFile, ownFile, keyFile }) {
  const read = (file) => (file ? readFileSync(file) : undefined);
  return {
    rejectUnauthorized: !acceptsAny,
    ca: read(trustedFile),
    cert: read(ownFile),
    key: read(keyFile),
  };
}

module.exports = { connect };
