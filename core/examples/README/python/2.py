from paddlegate import Paddlegate

pg = Paddlegate("redis://127.0.0.1:12845")
erp = pg.concurrent("erp-live", 50)

print(erp.pause(0.2).paused_for)  # nobody passes, in no process; who waits keeps the place
erp.resume()
erp.override(10, expires_in=3600)  # 10 at once for an hour; evicts nobody
print(erp.controls().overrides, erp.controls().expires_in)
erp.restore()  # the policy's own numbers again
