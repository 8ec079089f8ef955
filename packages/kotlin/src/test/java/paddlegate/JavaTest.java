package paddlegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** The package as a program in Java writes it. */
final class JavaTest {
    private static final String URL = System.getenv("PADDLEGATE_TEST_URL");
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final String name = "java-" + java.util.UUID.randomUUID();

    @Test
    void callsBlock() throws Exception {
        try (var pg = Paddlegate.open(URL, PATIENCE)) {
            var shop =
                    pg.blocking()
                            .points(
                                    name,
                                    1000,
                                    Duration.ofHours(20),
                                    options -> {
                                        options.setWaitTimeout(Duration.ofSeconds(1));
                                        options.setTtl(Duration.ofDays(7));
                                    });
            String answer =
                    shop.withinLimit(
                            new Call().estimate(200),
                            permit -> {
                                assertEquals(Settlement.SETTLED, permit.pointsUsed(50));
                                return "done";
                            });
            assertEquals("done", answer);
            assertEquals(950, shop.peek(new Call().cost(0)).getRemaining());

            var over =
                    assertThrows(
                            OverLimitException.class,
                            () ->
                                    shop.acquire(
                                            new Call().estimate(1000).waitTimeout(Duration.ZERO)));
            assertTrue(over.getRetryAfter().compareTo(Duration.ofMinutes(1)) > 0);
            assertEquals(name, over.getLimiter());
            assertThrows(InvalidException.class, () -> shop.acquire(new Call().cost(-1)));
        }
    }

    @Test
    void aBodyMayThrowWhatItWants() throws Exception {
        try (var pg = Paddlegate.open(URL, PATIENCE)) {
            var erp = pg.blocking().concurrent(name, 1);
            PermitBody<String> body =
                    permit -> {
                        throw new IOException("the ERP is closed");
                    };
            assertEquals(
                    "the ERP is closed",
                    assertThrows(IOException.class, () -> erp.withinLimit(body)).getMessage());
            assertEquals(0, erp.inspect(0L, 0L).getLeaseCount());
        }
    }

    @Test
    void everyOverrideIsToBeHad() {
        try (var pg = Paddlegate.open(URL, PATIENCE)) {
            var window = pg.blocking().window(name, 1, Duration.ofHours(1));
            var state =
                    window.override(
                            5L,
                            Duration.ofHours(2),
                            "window",
                            null,
                            null,
                            Duration.ofDays(1),
                            null);
            var limit = state.getOverrides().get("window");
            assertEquals(
                    List.of(5L, Duration.ofHours(2)),
                    List.of(limit.getAmount(), limit.getInterval()));
            assertEquals(
                    "shadow",
                    window.override(null, null, null, null, "shadow", null, null).getMode());
            assertTrue(pg.blocking().unlimited(name + "u").allow());
            assertFalse(pg.blocking().paused(name + "p").allow());
        }
    }

    @Test
    void limitersOfADocumentGrantWithoutTheirStore() {
        try (var pg = Paddlegate.open("redis://127.0.0.1:1", PATIENCE)) {
            var document = "{\"limiters\":{\"erp\":{\"bucket\":{\"limit\":1,\"per\":\"day\"}}}}";
            var erp = pg.blocking().load(document, null, null, null, "fail_open").get("erp");
            assertTrue(erp.tryAcquire().getDegraded());
            assertThrows(
                    InvalidException.class,
                    () -> pg.blocking().load(document, null, null, null, "guess"));
        }
    }

    @Test
    void leasesAreReleasedByTryWithResources() throws Exception {
        try (var pg = Paddlegate.open(URL, PATIENCE)) {
            var erp =
                    pg.blocking()
                            .concurrent(
                                    name,
                                    1,
                                    options -> options.setLockTimeout(Duration.ofHours(1)));
            try (var permit = erp.acquire()) {
                assertTrue(permit.getExpiresIn().compareTo(Duration.ofMinutes(59)) > 0);
                assertFalse(erp.tryAcquire().getAllowed());
            }
            assertTrue(erp.tryAcquire() instanceof Decision.Granted);
        }
    }

    @Test
    void futures() throws Exception {
        try (var pg = Paddlegate.open(URL, PATIENCE)) {
            var erp = pg.blocking().concurrent(name, 1);
            CompletableFuture<Integer> body = new CompletableFuture<>();
            CompletableFuture<Integer> within = erp.withinLimitAsync(new Call(), permit -> body);
            while (erp.inspect(0L, 0L).getLeaseCount() == 0) {
                Thread.sleep(1);
            }
            assertFalse(erp.tryAcquireAsync().get(1, TimeUnit.MINUTES).getAllowed());
            body.complete(7);
            assertEquals(7, within.get(1, TimeUnit.MINUTES));
            erp.acquireAsync().get(1, TimeUnit.MINUTES).close();
            erp.acquireAsync(new Call().waitTimeout(Duration.ofSeconds(1)))
                    .get(1, TimeUnit.MINUTES)
                    .close();
        }
    }

    @Test
    void policiesJobsAndKeys() throws Exception {
        var clock = new TestClock();
        try (var pg = Paddlegate.open("memory://", null, clock)) {
            var model =
                    pg.blocking()
                            .limiter(
                                    "model",
                                    List.of(
                                            Limit.window(500, Duration.ofMinutes(1)).labeled("rpm"),
                                            Limit.points(1000, Duration.ofMinutes(1))
                                                    .labeled("tpm")));
            var decision =
                    model.tryAcquire(
                            new Call().cost(Charge.byLabel(Map.of("tpm", 900L))).limits(true));
            assertEquals(
                    List.of(499L, 100L),
                    decision.getLimits().stream().map(DecisionLimit::getRemaining).toList());
            assertEquals(
                    Duration.ofMinutes(1), Limit.window(1, Duration.ofMinutes(1)).getInterval());

            var perUser =
                    pg.blocking()
                            .window(
                                    "api",
                                    1,
                                    Duration.ofMinutes(1),
                                    options -> options.setKeyed(true));
            assertTrue(perUser.allow(new Call().key("ann")));
            assertFalse(perUser.withKey("ann").allow());
            clock.advance(Duration.ofMinutes(1));
            assertTrue(perUser.withKey("ann").allow());

            var workers = pg.blocking().concurrent("workers", 1);
            assertEquals("run", Jobs.admit(workers, "a").getAction());
            assertEquals("wait", Jobs.admit(workers, "b").getAction());
            assertTrue(
                    Jobs.enqueue(workers, "c", new Call(), Duration.ofMinutes(1))
                            instanceof Decision.Queued);
            assertEquals(
                    Duration.ofMinutes(1), workers.pause(Duration.ofMinutes(1)).getPausedFor());
        }
    }
}
