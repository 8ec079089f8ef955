package paddlegate

import com.fasterxml.jackson.databind.JsonNode
import java.util.stream.Stream
import kotlin.time.Duration.Companion.seconds
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.DynamicTest
import org.junit.jupiter.api.DynamicTest.dynamicTest
import org.junit.jupiter.api.TestFactory

/** Replays the shared cases of misuse that Kotlin's types can express. */
internal class ErrorVectorsTest {
    @TestFactory
    fun cases(): Stream<DynamicTest> {
        val text = vectors("errors.json").toString().replace("\"$2^53\"", "9007199254740992")
        val cases = JSON.readTree(text)["cases"].filter(::isExpressible)
        check(cases.size >= 145) { "only ${cases.size} cases" }
        return cases.stream().map { dynamicTest(it["title"].asText()) { misused(it) } }
    }

    private fun misused(it: JsonNode) {
        Paddlegate("memory://").use { store ->
            val limits =
                it["limits"].orEmpty().map { limit ->
                    val interval = limit.given("interval")?.asDouble()?.seconds ?: limit.time("interval_us")
                    Limit(limit["kind"].asText(), limit.long("amount"), interval, limit.text("label"), limit.time("offset_us"))
                }
            val name = it.text("name") ?: unique()
            val error =
                assertThrows(PaddlegateException::class.java) {
                    val limiter = store.limiter(name, limits).blocking
                    if (it["do"].asText() != "limiter") misuse(limiter, it)
                }
            val expected = inKotlin(it["expect"]["argument"].asText())
            val argument = if (it["do"].asText() == "debit" && expected == "cost") "charge" else expected
            assertTrue(error is InvalidException && error.argument == argument, "expected argument=$argument, got $error")
            assertEquals(it["expect"]["code"].asInt() to it["expect"]["kind"].asText(), error.code to error.kind)
            assertTrue(argument in error.message!!, error.message)
            if (it["do"].asText() !in setOf("limiter", "clock")) {
                val look = store.limiter(name, limits).blocking.peek(Call().cost(0))
                assertEquals(look.limit, look.remaining, "something was changed")
            }
        }
    }

    private fun misuse(limiter: BlockingLimiter, it: JsonNode) {
        val call = Call(cost = charge(it["cost"]), estimate = charge(it["estimate"]))
        when (val what = it["do"].asText()) {
            "acquire" -> limiter.tryAcquire(call)
            "peek" -> limiter.peek(call)
            "debit" -> limiter.debit(call.cost!!)
            "correct" -> limiter.correct(it.text("permit").orEmpty(), charge(it["actual"])!!)
            "clock" -> TestClock(it["now_us"].asLong().instant)
            else -> error("there is no step $what")
        }
    }

    private fun charge(value: JsonNode?): Charge? =
        when {
            value == null || value.isNull -> null
            value.isNumber -> Charge.of(value.asLong())
            else -> Charge.byLabel(value.properties().associate { (label, units) -> label to units.asLong() })
        }

    private fun isExpressible(it: JsonNode): Boolean {
        fun whole(value: JsonNode?) = value == null || value.isNull || value.isIntegralNumber && value.canConvertToLong()
        fun units(value: JsonNode?) = whole(value) || value!!.isObject && value.all { units -> !units.isNull && whole(units) }
        val limits = it["limits"].orEmpty()
        val areLimits = limits.all { limit ->
            limit.path("kind").isTextual &&
                whole(limit["amount"]) &&
                whole(limit["interval_us"]) &&
                whole(limit["offset_us"]) &&
                (limit["interval"]?.isNumber ?: true) &&
                (limit["label"]?.isTextual ?: true)
        }
        val needsCharge = mapOf("debit" to "cost", "correct" to "actual")[it["do"].asText()]
        return areLimits &&
            (it["name"]?.isTextual ?: true) &&
            units(it["cost"]) &&
            units(it["estimate"]) &&
            units(it["actual"]) &&
            (it["permit"]?.isTextual ?: true) &&
            whole(it["now_us"]) &&
            (needsCharge == null || it.given(needsCharge) != null)
    }
}

private fun JsonNode?.orEmpty(): List<JsonNode> = this?.toList().orEmpty()
