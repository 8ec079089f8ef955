package paddlegate

import com.fasterxml.jackson.databind.JsonNode
import java.util.stream.Stream
import kotlin.io.path.listDirectoryEntries
import kotlin.io.path.name
import org.junit.jupiter.api.AfterAll
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.DynamicTest
import org.junit.jupiter.api.TestFactory
import org.junit.jupiter.api.TestInstance

/** Replays the shared vectors through the public interface, on both stores. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
internal class VectorsTest {
    private val clock = TestClock(1_700_000_000_000_000.instant)
    // Shared by all cases, so that names which collide show.
    private val stores = mapOf("memory" to "memory://", "redis" to TEST_URL).mapValues { Paddlegate(it.value, PATIENCE, clock) }
    private val prefix = unique()

    @AfterAll fun close(): Unit = stores.values.forEach(Paddlegate::close)

    @TestFactory
    fun vectors(): Stream<DynamicTest> {
        val files = VECTORS.listDirectoryEntries("*.json").sorted().filter { it.name !in setOf("errors.json", "waiting.json") }
        check(files.size > 20) { "files=$files" }
        return files.stream().flatMap { file ->
            val all = vectors(file.name)
            val name = all["name"].asText()
            all["cases"].withIndex().toList().stream().flatMap { (index, case) ->
                stores.entries.stream().map { (store, opened) ->
                    val unique = "$prefix-$name-${case.text("name") ?: index}"
                    DynamicTest.dynamicTest("$store/$name/${case["title"].asText()}") {
                        Replay(opened, unique, case).run(clock)
                    }
                }
            }
        }
    }
}

/** One case. */
internal class Replay(private val store: Paddlegate, val name: String, private val case: JsonNode) {
    private val each = case.given("limiters")?.associate { it["name"].asText() to createOf(it) }
    val permits = HashMap<String, String>()
    var last: Decision? = null
    var limiter: BlockingLimiter = if (each == null) create(name, case["limits"]) else each.values.first()

    fun run(clock: TestClock) {
        for ((number, step) in case["steps"].withIndex()) {
            step.long("at_us")?.let { clock.now = it.instant }
            val answer = runCatching {
                choose(step)
                perform(step)
            }
            val wrong = step.text("error")
            if (wrong != null) {
                val expected = if (step["do"].asText() == "debit" && wrong == "cost") "charge" else inKotlin(wrong)
                val error = answer.exceptionOrNull()
                assertEquals(expected, (error as? InvalidException)?.argument, "step ${number + 1}: $error")
                continue
            }
            val got = plain(answer.getOrThrow())
            if (step.has("expect")) assertEquals(step["expect"], got, "step ${number + 1}")
        }
    }

    fun create(name: String, limits: JsonNode, options: LimiterOptions.() -> Unit = {}): BlockingLimiter =
        store.limiter(name, limitsOf(limits), options).blocking

    private fun createOf(it: JsonNode, mode: String? = it.text("mode")): BlockingLimiter =
        create("$name.${it["name"].asText()}", it["limits"]) {
            keyed = it.given("keyed")?.asBoolean() == true
            statistics = it.given("statistics")?.asBoolean() != false
            this.mode = mode
            it.given("block_after")?.let { rule ->
                blockAfter(rule["refusals"].asLong(), rule["within_us"].asLong().duration, rule["for_us"].asLong().duration)
            }
        }

    /** Takes the limiter that a step is of. */
    private fun choose(step: JsonNode) {
        if (each == null) return
        val of = step.given("of")
        if (of != null && of.isTextual) {
            limiter = choice(of.asText(), step)
            return
        }
        val names = of?.map(JsonNode::asText) ?: each.keys.toList()
        limiter = store.together(names.map { choice(it, step).suspending }).blocking
    }

    private fun choice(of: String, step: JsonNode): BlockingLimiter {
        step.given("groups")?.text(of)?.let { named ->
            val minute = 60_000_000L.duration
            return store.window("$name.$of", 5, minute) { group = named }.blocking
        }
        val mode = step.given("modes")?.text(of)
        val made = case["limiters"].first { it["name"].asText() == of }
        val chosen = if (mode == null) checkNotNull(each)[of]!! else createOf(made, mode)
        return step.given("keys")?.text(of)?.let(chosen::withKey) ?: chosen
    }

    /** Converts the number or the object of a step. */
    fun charge(value: JsonNode?): Charge? {
        if (value == null || value.isNull) return null
        if (value.isNumber) return Charge.of(value.asLong())
        val fields = value.properties().associate { (label, units) -> (each?.get(label)?.name ?: label) to units }
        if (fields.values.all(JsonNode::isNumber)) return Charge.byLabel(fields.mapValues { it.value.asLong() })
        return Charge.byLimiter(fields.mapValues { charge(it.value)!! })
    }

    fun permit(step: JsonNode): String = step.text("permit").let { permits[it] ?: it ?: "" }
}

internal fun limitsOf(limits: JsonNode): List<Limit> = limits.map {
    Limit(
        it["kind"].asText(),
        it.long("amount"),
        it.time("interval_us"),
        it.text("label"),
        it.time("offset_us"),
        it.text("refund"),
        it.text("per"),
        it.text("timezone"),
        it.text("starts"),
    )
}
