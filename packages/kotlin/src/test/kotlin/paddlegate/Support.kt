package paddlegate

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.json.JsonMapper
import com.fasterxml.jackson.databind.node.NullNode
import java.nio.file.Path
import kotlin.io.path.readText
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import paddlegate.internal.newId

internal val JSON = JsonMapper()

internal val VECTORS: Path = Path.of("../../tests/vectors")

internal fun vectors(name: String): JsonNode = JSON.readTree(VECTORS.resolve(name).readText())

/** The Redis to test on. A test without one fails. */
internal val TEST_URL: String
    get() = System.getenv("PADDLEGATE_TEST_URL") ?: error("PADDLEGATE_TEST_URL names no Redis to test on")

/** A time-out for a machine that stalls. */
internal val PATIENCE: Duration = 10.seconds

/** A name that no other test and no other run has. */
internal fun unique(): String = "kotlin-${newId()}"

/** Runs a test in memory and on Redis. */
internal fun onBoth(test: (Paddlegate) -> Unit) {
    for (url in listOf("memory://", TEST_URL)) Paddlegate(url, timeout = PATIENCE).use(test)
}

/** Waits until a condition holds. */
internal fun eventually(what: String, holds: () -> Boolean) {
    repeat(30_000) {
        if (holds()) return
        Thread.sleep(2)
    }
    error("never: $what")
}

/** Gives an answer as JSON has it. */
internal fun plain(answer: Any?): JsonNode = JSON.readTree(JSON.writeValueAsString(answer))

internal fun JsonNode.given(name: String): JsonNode? = get(name)?.takeIf { it !is NullNode }

internal fun JsonNode.text(name: String): String? = given(name)?.asText()

internal fun JsonNode.long(name: String): Long? = given(name)?.asLong()

internal fun JsonNode.time(name: String): Duration? = long(name)?.duration

/** Runs a test on both with a clock that stands still, so that no ticket lapses. */
internal fun onBothAtOneTime(test: (Paddlegate) -> Unit) {
    for (url in listOf("memory://", TEST_URL)) {
        Paddlegate(url, PATIENCE, TestClock(1_700_000_000_000_000.instant)).use(test)
    }
}

/** Waits until so many calls are in the queue. */
internal fun tickets(limiter: Limiter, count: Long): Unit =
    eventually("tickets=$count") { limiter.blocking.inspect(0, 0).ticketCount == count }
