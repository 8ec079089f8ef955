import io.github.bucket4j.Bucket;

import paddlegate.BlockingLimiter;
import paddlegate.Call;
import paddlegate.Paddlegate;

import redis.clients.jedis.Jedis;

import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.function.BooleanSupplier;

/**
 * The share of Kotlin and Java: `Bench.java redis` and `Bench.java memory`, started from the root
 * of the work tree.
 */
public class Bench {
    private static final int ROUNDS = Integer.parseInt(System.getenv("BENCH_ROUNDS"));
    private static final double SECONDS = Double.parseDouble(System.getenv("BENCH_SECONDS"));

    /** Nothing is refused: a refusal is less work. */
    private static final long HUGE = 1_000_000_000;

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("redis")) withRedis(System.getenv("PADDLEGATE_URL"));
        else inMemory();
    }

    private static void withRedis(String url) throws Exception {
        // A busy machine may stop for a while; that is no failure here.
        try (var pg = Paddlegate.open(url, Duration.ofSeconds(20));
                var client = new Jedis(URI.create(url), 20_000)) {
            String digest = client.scriptLoad(Files.readString(Path.of("bench/gcra.lua")));
            List<String> keys = List.of("gcra");
            List<String> numbers = List.of("1", "1000000000000");
            BlockingLimiter limiter = pg.blocking().leaky("kotlin", HUGE, Duration.ofSeconds(1));
            Call call = new Call();
            compare(
                    "kotlin",
                    "one",
                    "us",
                    () -> client.evalsha(digest, keys, numbers) != null,
                    () -> limiter.tryAcquire(call).getAllowed());
        }
    }

    private static void inMemory() {
        try (var pg = Paddlegate.open("memory://")) {
            BlockingLimiter limiter = pg.blocking().leaky("kotlin", HUGE, Duration.ofSeconds(1));
            Call call = new Call();
            Bucket bucket =
                    Bucket.builder()
                            .addLimit(
                                    it ->
                                            it.capacity(HUGE)
                                                    .refillGreedy(HUGE, Duration.ofSeconds(1)))
                            .build();
            compare(
                    "kotlin memory",
                    "bucket4j",
                    "ns",
                    () -> bucket.tryConsume(1),
                    () -> limiter.allow(call));
        }
    }

    /**
     * Lets a reference and ours take turns, as measure.py does, and prints what each round
     * measured.
     */
    private static void compare(
            String name,
            String variant,
            String unit,
            BooleanSupplier reference,
            BooleanSupplier ours) {
        int referenceCalls = callsPerRound(reference);
        int ourCalls = callsPerRound(ours);
        double scale = unit.equals("us") ? 1e6 : 1e9;
        for (int round = 0; round < ROUNDS; round++) {
            System.out.printf(
                    Locale.ROOT,
                    "{\"case\": \"%s\", \"variant\": \"%s\", \"placement\": \"%s\", \"reference\":"
                            + " %f, \"ours\": %f, \"unit\": \"%s\"}%n",
                    name,
                    variant,
                    System.getenv("BENCH_PLACEMENT"),
                    turn(reference, referenceCalls) * scale,
                    turn(ours, ourCalls) * scale,
                    unit);
        }
    }

    /** Returns the seconds of one call. */
    private static double turn(BooleanSupplier side, int calls) {
        long began = System.nanoTime();
        for (int call = 0; call < calls; call++)
            if (!side.getAsBoolean()) throw new IllegalStateException("refused");
        return (System.nanoTime() - began) / 1e9 / calls;
    }

    /** Connects, loads the script, and calls until the compiler of the JVM has seen enough. */
    private static int callsPerRound(BooleanSupplier side) {
        int calls = 64;
        for (int warm = 0; warm < 5; warm++) turn(side, 2000);
        while (turn(side, calls) * calls < SECONDS * 0.7) calls *= 2;
        return calls;
    }
}
