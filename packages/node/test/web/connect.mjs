// A host of the connect kind for the adapter kit.
export const connect = (host, rateLimit) => ({
  serve({ limiter, options, stream }) {
    const app = host();
    app.use(rateLimit(limiter, options));
    app.get("/", (_req, res) => res.end("ok"));
    app.get("/missing", (_req, res) => {
      res.statusCode = 404;
      res.end("missing");
    });
    // Polka ends its process at an error that is thrown.
    app.get("/fails", (_req, _res, next) => next(new Error("as the kit asked")));
    app.get("/stream", (_req, res) => stream().pipe(res));
    return app.listen(0, "127.0.0.1");
  },
  header: (req, name) => req.headers[name],
});
