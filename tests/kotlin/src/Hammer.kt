// What a hammering loop asks, and its records. See tests/shared/hammer.py.

import com.fasterxml.jackson.databind.JsonNode
import java.io.File
import kotlin.random.Random
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import paddlegate.Limiter
import paddlegate.PaddlegateException
import paddlegate.UnavailableException

suspend fun hammer(line: JsonNode, limiters: Map<String, Limiter>): Any {
    val records = Records()
    val ends = line["until"].asDouble() * 1000
    coroutineScope {
        for (number in 0 until line["loops"].asInt()) launch(Dispatchers.Default) {
            val dice = Random(line["seed"].asLong() * 1000 + number)
            while (System.currentTimeMillis() < ends) {
                try {
                    ask(dice, line["plan"].toList().random(dice), limiters, records)
                } catch (e: PaddlegateException) {
                    records.fail(e)
                }
            }
        }
    }
    records.write(File(line["path"].asText()))
    return mapOf("errors" to records.errors, "may_have_counted" to records.mayHaveCounted)
}

private suspend fun ask(dice: Random, asked: JsonNode, limiters: Map<String, Limiter>, records: Records) {
    val on = asked["on"].asText()
    val limiter = limiters.getValue(on)
    val units = dice.nextLong(1, asked["most"].asLong() + 1)
    val decision =
        if (asked["verb"].asText() == "estimate") limiter.tryAcquire(estimate = units) else limiter.tryAcquire(cost = units)
    val at = microsOf(decision)
    if (!decision.allowed) {
        val retry = decision.retryAfter?.inWholeMicroseconds
        records.add(
            "limiter" to on,
            "is" to "refusal",
            "at" to at,
            "units" to units,
            "retry" to retry,
            "reason" to decision.reason,
        )
        return
    }
    val permit = decision.permit
    records.add("limiter" to on, "is" to "grant", "at" to at, "units" to units, "permit" to permit)
    if (permit == null || dice.nextInt(10) == 0) return
    repeat(if (dice.nextInt(10) == 0) 2 else 1) {
        val actual = dice.nextLong(units * 3 / 2 + 1)
        val after = microsOf(limiter.peek(cost = 0))
        val answer = limiter.correct(permit, actual).name.lowercase()
        val before = microsOf(limiter.peek(cost = 0))
        records.add(
            "limiter" to on,
            "is" to "settlement",
            "permit" to permit,
            "actual" to actual,
            "answer" to answer,
            "after" to after,
            "before" to before,
        )
    }
}

private class Records {
    private val lines = ArrayList<Map<String, Any?>>()
    val errors = HashMap<String, Int>()
    var mayHaveCounted = 0

    fun add(vararg fields: Pair<String, Any?>): Unit = synchronized(this) { lines += mapOf(*fields) }

    fun fail(e: PaddlegateException): Unit =
        synchronized(this) {
            errors.merge(e.javaClass.simpleName, 1, Int::plus)
            if (e is UnavailableException && e.mayHaveCounted) mayHaveCounted++
        }

    fun write(file: File): Unit =
        file.bufferedWriter().use { out -> lines.forEach { out.appendLine(JSON.writeValueAsString(it)) } }
}
