package paddlegate

import java.time.Instant
import kotlin.time.Duration
import kotlin.time.Duration.Companion.days
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.nanoseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** Errors name the argument as a caller in Kotlin writes it. */
internal class WordsTest {
    private val store = Paddlegate("memory://")
    private val points = store.points(unique(), 1000, 20.seconds).blocking
    private val slots = store.concurrent(unique(), 1).blocking
    private val keyed = store.window(unique(), 1, 1.minutes) { keyed = true }.blocking
    private val gate =
        store.invantiveGate(
            """{"RateLimitControlList":[{"SlotName":"a"}],"RateLimitControlSlotList":[{"Name":"a","ActionsPerSecond":2}]}"""
        )

    private fun made(options: LimiterOptions.() -> Unit) = { store.window("a", 1, 1.minutes, options) }

    private fun limit(limit: Limit) = { store.limiter("a", listOf(limit)) }

    private fun acquired(call: Call) = { points.acquire(call) }

    /** Makes the calls of each argument. Returns those that do not fail by its name. */
    private fun wrong(calls: Map<String, List<() -> Any?>>): List<String> = calls.flatMap { (argument, each) ->
        each.mapIndexedNotNull { number, call ->
            val error = runCatching { call() }.exceptionOrNull()
            if ((error as? InvalidException)?.argument == argument) null else "argument=$argument call=$number error=$error"
        }
    }

    @Test
    fun `errors name what the caller wrote`() {
        val negative = (-1).seconds
        val calls: Map<String, List<() -> Any?>> =
            mapOf(
                "url" to listOf({ Paddlegate("http://a") }),
                "timeout" to listOf({ Paddlegate("memory://", Duration.ZERO) }, { Paddlegate("memory://", negative) }),
                "name" to listOf({ store.window("", 1, 1.minutes) }),
                "interval" to
                    listOf(
                        { store.window("a", 1, negative) },
                        { store.window("a", 1, Duration.INFINITE) },
                        { store.throttle("a", Duration.ZERO) },
                    ),
                "limit" to
                    listOf(
                        { store.window("a", -1, 1.minutes) },
                        { store.concurrent("a", Long.MAX_VALUE) },
                        { points.override(limit = -1) },
                    ),
                "capacity" to listOf({ store.leaky("a", 0, 1.minutes) }, limit(Limit("points", interval = 1.minutes))),
                "drain" to listOf({ store.leaky("a", 1, Duration.ZERO) }),
                "refill" to listOf({ store.points("a", 1, Duration.ZERO) }),
                "per" to listOf({ store.quota("a", 1, "fortnight") }),
                "timezone" to listOf(limit(Limit("quota", 1, per = "day", timezone = "Mars"))),
                "starts" to listOf(limit(Limit("quota", 1, per = "day", starts = "noon"))),
                "offset" to
                    listOf(
                        limit(Limit("bucket", 1, 1.hours, offset = 1.hours)),
                        limit(Limit("bucket", 1, 1.hours, offset = negative)),
                    ),
                "refund" to listOf(limit(Limit("leaky", 1, 1.hours, refund = "half"))),
                "kind" to listOf(limit(Limit("windows", 1, 1.hours))),
                "label" to
                    listOf(limit(Limit.window(1, 1.hours).labeled("RPM")), { points.override(limit = 1, label = "window") }),
                "limits" to
                    listOf(
                        { store.limiter("a", listOf()) },
                        { points.override(limits = listOf()) },
                        { points.override(limit = 1, limits = listOf(Limit.window(1, 1.hours))) },
                    ),
                "lockTimeout" to
                    listOf(made { lockTimeout = 1.hours }, { store.concurrent("a", 1) { lockTimeout = Duration.ZERO } }),
                "ttl" to listOf(made { ttl = Duration.ZERO }, made { ttl = negative }),
                "group" to listOf(made { group = "" }),
                "mode" to
                    listOf(
                        made { mode = "off" },
                        { points.override(mode = "off") },
                        { points.override(limit = 1, mode = "shadow") },
                    ),
                "blockAfter" to listOf(made { blockAfter(0, 1.minutes, 1.minutes) }, made { blockAfter(1, negative, 1.minutes) }),
                "aging" to listOf(made { aging = Duration.ZERO }, made { aging = negative }),
                "onUnavailable" to listOf(made { onUnavailable = "panic" }),
                "localSharePercent" to
                    listOf(
                        made {
                            onUnavailable = "local"
                            localSharePercent = -1
                        },
                        made { localSharePercent = 50 },
                    ),
                "waitTimeout" to
                    listOf(
                        made { waitTimeout = negative },
                        acquired(Call(waitTimeout = negative)),
                        acquired(Call(waitTimeout = 4000.days)),
                        { slots.enqueue("a", Call(waitTimeout = negative)) },
                    ),
                "cost" to
                    listOf(
                        acquired(Call().cost(1001)),
                        acquired(Call().cost(-1)),
                        acquired(Call(cost = Charge.byLabel("a" to 1))),
                    ),
                "estimate" to
                    listOf(
                        acquired(Call()),
                        acquired(Call().estimate(-1)),
                        { points.acquire(Call().cost(1)).pointsUsed(1) },
                    ),
                "settleWithin" to
                    listOf(
                        acquired(Call(settleWithin = Duration.ZERO).estimate(1)),
                        acquired(Call(settleWithin = negative).estimate(1)),
                    ),
                "priority" to listOf(acquired(Call(priority = 10).cost(1)), acquired(Call(priority = -1).cost(1))),
                "share" to listOf(acquired(Call(share = "").cost(1))),
                "weight" to
                    listOf(
                        acquired(Call().cost(1).share("a", 0)),
                        acquired(Call().cost(1).share("a", 1001)),
                        acquired(Call(weight = 2).cost(1)),
                        acquired(Call(share = "a", weight = -1).cost(1)),
                    ),
                "id" to
                    listOf(
                        acquired(Call(id = "a".repeat(65)).cost(1)),
                        { points.tryAcquire(Call(id = "").cost(1)) },
                        { slots.admit("") },
                        { slots.cancel("") },
                    ),
                "claimTimeout" to
                    listOf({ slots.enqueue("a", claimTimeout = Duration.ZERO) }, { slots.admit("a", claimTimeout = negative) }),
                "onLimit" to listOf({ slots.admit("a", onLimit = "explode") }),
                "key" to listOf(acquired(Call(key = "a")), { slots.tryAcquire(Call(key = "a")) }),
                "actual" to listOf({ points.correct("a", -1) }),
                "units" to listOf({ points.extend("a", Charge.of(-1)) }),
                "charge" to listOf({ points.debit(-1) }, { points.debit(Charge.byLabel("points" to -1)) }),
                "count" to
                    listOf(
                        { slots.ready(0) },
                        { slots.ready(101) },
                        { slots.ready(-1) },
                        { slots.inspect(0, -1) },
                        { slots.inspect(0, 1001) },
                    ),
                "offset" to listOf({ slots.inspect(-1, 1) }),
                "duration" to listOf({ points.pause(negative) }, { points.block(Duration.ZERO) }),
                "until" to
                    listOf(
                        { points.pauseUntil(Instant.parse("2120-01-01T00:00:00Z")) },
                        { points.pauseUntil(Instant.ofEpochSecond(-1)) },
                        { points.pauseUntil(Instant.MAX) },
                        { points.blockUntil(Instant.MIN) },
                    ),
                "expiresIn" to listOf({ points.override(limit = 1, expiresIn = negative) }),
                "expiresAt" to
                    listOf(
                        { points.override(limit = 1, expiresIn = 1.hours, expiresAt = Instant.now()) },
                        { points.override(limit = 1, expiresAt = Instant.MAX) },
                    ),
                "remaining" to listOf({ points.reportBudget(Budget(remaining = -1)) }),
                "restoreRate" to listOf({ points.reportBudget(Budget(restoreRate = -1.0)) }),
                "resetIn" to listOf({ points.reportBudget(Budget(resetIn = negative)) }),
                "resetAt" to listOf({ points.reportBudget(Budget(resetAt = Instant.MAX)) }),
                "provider" to listOf({ points.learnFromResponse(Response(provider = "acme")) }),
                "status" to listOf({ points.learnFromResponse(Response(status = -1)) }),
                "maxLearned" to listOf({ points.learnFromResponse(Response(maxLearned = -1)) }),
                "defaultPause" to listOf({ points.learnFromResponse(Response(defaultPause = negative)) }),
                "maxPause" to listOf({ points.learnFromResponse(Response(maxPause = negative)) }),
                "cursor" to listOf({ store.blocking.limiterPage("", "page 2") }),
                "now" to
                    listOf(
                        { TestClock(Instant.ofEpochSecond(-1)) },
                        { TestClock(Instant.MAX) },
                        { TestClock(Instant.MIN) },
                        { TestClock().now = Instant.MAX },
                    ),
            )
        assertEquals(emptyList<String>(), wrong(calls))
        assertTrue(
            runCatching { slots.allow() }.exceptionOrNull() is InvalidException,
            "a lease cannot be released without its permit",
        )
    }

    @Test
    fun `half a character is refused by the name of its argument`() {
        // The two halves of characters beyond the first 65,536, alone and in the wrong order.
        for (half in listOf("a\uD800", "\uDC00a", "\uDC00\uD800", "\uD800\uD800\uDC00")) {
            val calls: Map<String, List<() -> Any?>> =
                mapOf(
                    "name" to listOf({ store.window(half, 1, 1.minutes) }),
                    "group" to listOf(made { group = half }, { store.load("{}", group = half) }),
                    "mode" to listOf(made { mode = half }, { points.override(mode = half) }),
                    "onUnavailable" to
                        listOf(
                            made { onUnavailable = half },
                            { store.load("{}", onUnavailable = half) },
                            { store.conductorLimiter("{}", "{}", onUnavailable = half) },
                        ),
                    "kind" to listOf(limit(Limit(half, 1, 1.hours))),
                    "label" to
                        listOf(
                            limit(Limit.window(1, 1.hours).labeled(half)),
                            { points.override(limit = 1, label = half) },
                            { points.restore(half) },
                            { points.reportBudget(Budget(label = half)) },
                        ),
                    "refund" to listOf(limit(Limit("leaky", 1, 1.hours, refund = half))),
                    "per" to listOf({ store.quota("a", 1, half) }),
                    "timezone" to listOf(limit(Limit("quota", 1, per = "day", timezone = half))),
                    "starts" to listOf(limit(Limit("quota", 1, per = "day", starts = half))),
                    "document" to
                        listOf(
                            { store.load(half) },
                            { store.invantiveGate(half) },
                            { points.applyOjsSignal(half) },
                            { points.applyOjsOverride(half) },
                        ),
                    "tenant" to listOf({ store.load("{}", tenant = half) }),
                    "definition" to listOf({ store.conductorLimiter(half, "{}") }),
                    "run" to listOf({ store.conductorLimiter("{}", half) }),
                    "key" to
                        listOf(
                            { keyed.withKey(half) },
                            { keyed.allow(Call(key = half)) },
                            { keyed.tryAcquire(Call(key = half)) },
                            { keyed.acquire(Call(key = half)) },
                            { keyed.peek(Call(key = half)) },
                            { runBlocking { keyed.suspending.allow(key = half) } },
                            { runBlocking { keyed.suspending.acquire(key = half) } },
                        ),
                    "id" to
                        listOf(
                            acquired(Call(id = half).cost(1)),
                            { slots.tryAcquire(Call(id = half)) },
                            { slots.admit(half) },
                            { slots.enqueue(half) },
                            { slots.claim(half) },
                            { slots.cancel(half) },
                        ),
                    "ids" to listOf({ slots.admitAll(listOf("a", half)) }),
                    "onLimit" to listOf({ slots.admit("a", onLimit = half) }, { slots.admitAll(listOf("a"), onLimit = half) }),
                    "share" to
                        listOf(
                            acquired(Call(share = half).cost(1)),
                            { points.tryAcquire(Call(share = half).cost(1)) },
                            { slots.admit("a", Call(share = half)) },
                        ),
                    "units" to listOf({ Charge.byLabel(half to 1) }),
                    "charges" to
                        listOf(
                            { Charge.byLimiter(mapOf(half to Charge.of(1))) },
                            { Charge.byLimiter(mapOf(half to Charge.byLabel("tpm" to 1))) },
                        ),
                    "permit" to
                        listOf(
                            { points.correct(half, 1) },
                            { points.extend(half, Charge.of(1)) },
                            { slots.release(half) },
                            { slots.renew(half) },
                            { points.reportBudget(Budget(permit = half)) },
                            { points.learnFromResponse(Response(permit = half)) },
                        ),
                    "provider" to listOf({ points.learnFromResponse(Response(provider = half)) }),
                    "prefix" to listOf({ store.blocking.limiters(half) }, { store.blocking.limiterPage(half) }),
                    "cursor" to listOf({ store.blocking.limiterPage("", half) }),
                    "query" to listOf({ Paddlegate.graphqlCost(half) }),
                    "variables" to listOf({ Paddlegate.graphqlCost("{ a }", variables = half) }),
                    "operation" to listOf({ Paddlegate.graphqlCost("{ a }", operation = half) }),
                    "rules" to listOf({ Paddlegate.graphqlCost("{ a }", rules = half) }),
                    "context" to listOf({ gate.admitBlocking(RequestAttributes(context = half)) }),
                    "url" to listOf({ Paddlegate("memory://$half") }, { gate.admitBlocking(RequestAttributes(url = half)) }),
                    "logOnCode" to listOf({ gate.admitBlocking(RequestAttributes(logOnCode = half)) }),
                    "dataContainerId" to listOf({ gate.admitBlocking(RequestAttributes(dataContainerId = half)) }),
                    "ip" to listOf({ gate.admitBlocking(RequestAttributes(ip = half)) }),
                )
            assertEquals(emptyList<String>(), wrong(calls))
        }
        // Both halves are a character. What an upstream wrote fails no call.
        assertTrue(keyed.allow(Call(key = "\uD83D\uDE00")))
        val strange = Response(429, mapOf("a\uD800" to listOf("\uDC00"), "Retry-After" to listOf("3")), "\uD800")
        assertEquals(3.seconds, points.learnFromResponse(strange).pause)
    }

    @Test
    fun `messages have durations`() {
        val error = runCatching { store.window("a", 1, 4000.days) }.exceptionOrNull()
        assertTrue("interval=4000d" in error?.message.orEmpty() && "_us" !in error?.message.orEmpty(), "$error")
        assertTrue(error?.message.orEmpty().startsWith("interval: "), "$error")
        val short = runCatching { store.window("a", 1, 60.nanoseconds) }.exceptionOrNull()
        assertEquals("interval: must be at least 1us: interval=60ns", short?.message)
    }

    private class Verb(val unused: List<String>, val call: suspend (Call) -> Any?)

    @Test
    fun `a verb refuses the options that it does not use`() {
        val all =
            mapOf(
                "id" to Call(id = "a"),
                "limits" to Call(limits = true),
                "priority" to Call(priority = 1),
                "share" to Call(share = "a"),
                "weight" to Call(weight = 1),
                "waitTimeout" to Call(waitTimeout = Duration.ZERO),
            )
        val window = store.window(unique(), 10, 1.minutes)
        val queue = listOf("priority", "share", "weight")
        val verbs =
            listOf(
                Verb(queue + "id" + "limits" + "waitTimeout") { window.allow(it) },
                Verb(queue + "waitTimeout") { window.tryAcquire(it) },
                Verb(queue + "waitTimeout") { slots.suspending.tryAcquire(it) },
                Verb(queue + "id" + "waitTimeout") { window.peek(it) },
                Verb(emptyList()) { window.acquire(it) },
                Verb(listOf("id", "waitTimeout")) { window.admit("b", it) },
                Verb(listOf("id")) { slots.enqueue("b", it) },
                Verb(listOf("id")) { slots.claim("b", it) },
            )
        for ((number, verb) in verbs.withIndex()) for ((option, call) in all) {
            val error = runCatching { runBlocking { verb.call(call) } }.exceptionOrNull() as? InvalidException
            val isRefused = error?.reason?.startsWith("is no option of ") == true
            assertEquals(option in verb.unused, isRefused, "verb=$number option=$option error=$error")
            if (isRefused) assertEquals(option, error.argument)
        }
    }
}
