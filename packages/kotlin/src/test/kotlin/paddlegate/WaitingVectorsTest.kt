package paddlegate

import com.fasterxml.jackson.databind.JsonNode
import java.util.stream.Stream
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.DynamicTest
import org.junit.jupiter.api.DynamicTest.dynamicTest
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.TestFactory
import paddlegate.internal.NativeWaiter
import paddlegate.internal.reconnectPauseUs

/** Replays the rules of a waiting call, which all languages share. */
internal class WaitingVectorsTest {
    private val file = vectors("waiting.json")

    @Test
    fun `pauses before a connection is opened again`() {
        val pauses = file["reconnect_pauses_us"].map(JsonNode::asLong)
        assertEquals(pauses, pauses.indices.map { reconnectPauseUs(it.toUInt()) })
    }

    @TestFactory
    fun cases(): Stream<DynamicTest> {
        val calls = file["cases"].map { it to { waiterOf(it) } }
        val jobs = file["jobs"].map { it to { jobOf(it) } }
        check(calls.isNotEmpty() && jobs.isNotEmpty())
        return (calls + jobs).stream().map { (case, waiter) ->
            dynamicTest(case["title"].asText()) { waiter().use { replay(it, case) } }
        }
    }

    private fun waiterOf(it: JsonNode) =
        NativeWaiter(it["owns_id"].asBoolean(), it["max_wait_us"].asLong(), it["now_us"].asLong())

    private fun jobOf(it: JsonNode) =
        NativeWaiter.ofJob(it["claim_timeout_us"].asLong(), it["patience_us"].asLong(), it["now_us"].asLong())

    private fun replay(waiter: NativeWaiter, case: JsonNode) {
        for ((number, step) in case["steps"].withIndex()) {
            val now = step.long("now_us") ?: 0
            val answer: Any? =
                when (val what = step["do"].asText()) {
                    "next" -> {
                        val next = waiter.next(now, step.text("channel").orEmpty())
                        buildMap {
                            put("max_wait_us", next.maxWaitUs)
                            put("ticket", next.position.takeIf { it != 0L })
                            if (step["expect"].has("channel")) {
                                put("channel", next.channel)
                                assertEquals(case["claim_timeout_us"].asLong() to 60_000_000L, next.claimTimeoutUs to next.keepUs)
                            }
                        }
                    }
                    "decision" ->
                        if (step["status"].asText() == "queued") {
                            waiter.onQueued(now, step.long("retry_after_us"), step.long("ticket"))
                        } else {
                            waiter.onFinal(step["status"].asText() == "granted", step.given("degraded")?.asBoolean() == true)
                            true
                        }
                    "error" -> waiter.onError(step.given("may_have_counted")?.asBoolean() == true)
                    "wakeup" -> waiter.onWakeup(step["at_us"].asLong())
                    "retry_at" -> waiter.retryAt(step.text("channel").orEmpty())
                    "must_cancel" -> waiter.mustCancel(step.given("delivered")?.asBoolean() == true)
                    else -> error("there is no step $what")
                }
            if (step.has("expect")) assertEquals(step["expect"], plain(answer), "step ${number + 1}")
        }
    }
}
