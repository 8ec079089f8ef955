// The Kotlin worker, with coroutines. Verbs and lines: see tests/shared/fleet.py.

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.json.JsonMapper
import kotlin.time.Duration.Companion.microseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.runBlocking
import paddlegate.Call
import paddlegate.Charge
import paddlegate.Decision
import paddlegate.InvalidException
import paddlegate.Limit
import paddlegate.Limiter
import paddlegate.Paddlegate
import paddlegate.PaddlegateException
import paddlegate.TestClock
import paddlegate.UnavailableException

val JSON = JsonMapper()

fun main() {
    val worker = Worker()
    for (line in generateSequence(::readLine)) {
        val answer =
            try {
                mapOf("value" to runBlocking { worker.perform(JSON.readTree(line)) })
            } catch (e: Exception) {
                mapOf("error" to errorOf(e))
            }
        println(JSON.writeValueAsString(answer))
    }
    worker.close()
}

class Worker : AutoCloseable {
    private var store: Paddlegate? = null
    private var clock: TestClock? = null
    private val limiters = HashMap<String, Limiter>()

    suspend fun perform(line: JsonNode): Any? {
        fun limiter() = limiters.getValue(line["on"].asText())
        return when (val what = line["do"].asText()) {
            "open" -> open(line)
            "set_clock" -> clock!!.now = instantOf(line["now_us"].asLong())
            "limiter" -> {
                val limits = line["limits"].map(::limitOf)
                limiters[line["as"].asText()] = store!!.limiter(line["name"].asText(), limits)
            }
            "try_acquire" -> shown(limiter().tryAcquire(callOf(line)))
            "peek" -> shown(limiter().peek(callOf(line)))
            "allow" -> limiter().allow(callOf(line))
            "acquire" -> shown(limiter().acquire(callOf(line)).decision)
            "correct" -> limiter().correct(line["permit"].asText(), chargeOf(line["actual"])!!).name.lowercase()
            "reset" -> limiter().reset()
            "hammer" -> hammer(line, limiters)
            else -> error("there is no verb $what")
        }.takeIf { it != Unit }
    }

    override fun close() {
        store?.close()
    }

    private fun open(line: JsonNode) {
        clock = line["now_us"]?.let { TestClock(instantOf(it.asLong())) }
        store = Paddlegate(line["url"].asText(), line["timeout"].asDouble().seconds, clock)
    }
}

private fun instantOf(us: Long) = java.time.Instant.EPOCH.plusNanos(us * 1000)

private fun callOf(line: JsonNode): Call =
    Call(
        cost = chargeOf(line["cost"]),
        estimate = chargeOf(line["estimate"]),
        waitTimeout = line["wait_timeout"]?.takeUnless { it.isNull }?.asDouble()?.seconds,
    )

/** Converts a kind and its numbers. A throttle has its interval alone, or behind a number. */
private fun limitOf(numbers: JsonNode): Limit {
    val amount = if (numbers.size() > 2) numbers[1].asLong() else 1
    return Limit(numbers[0].asText(), amount, (numbers.last().asDouble() * 1e6 + 0.5).toLong().microseconds)
}

private fun chargeOf(value: JsonNode?): Charge? =
    when {
        value == null || value.isNull -> null
        value.isObject -> Charge.byLabel(value.properties().associate { it.key to it.value.asLong() })
        else -> Charge.of(value.asLong())
    }

private fun shown(it: Decision): Map<String, Any?> =
    mapOf(
        "allowed" to it.allowed,
        "limit" to it.limit,
        "remaining" to it.remaining,
        "retry_us" to it.retryAfter?.inWholeMicroseconds,
        "reset_us" to it.resetAfter?.inWholeMicroseconds,
        "reason" to it.reason,
        "at_us" to microsOf(it),
        "permit" to it.permit,
    )

fun microsOf(it: Decision): Long = it.at?.let { at -> at.epochSecond * 1_000_000 + at.nano / 1000 } ?: 0

fun errorOf(e: Exception): Map<String, Any?> =
    mapOf(
        "class" to if (e is PaddlegateException) e.javaClass.simpleName else e.toString(),
        "argument" to (e as? InvalidException)?.argument,
        "may_have_counted" to (e as? UnavailableException)?.mayHaveCounted,
    )
