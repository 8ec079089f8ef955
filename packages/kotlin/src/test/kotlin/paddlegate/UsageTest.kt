package paddlegate

import java.time.Instant
import java.util.concurrent.CompletableFuture
import kotlin.time.Duration
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertNotEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

internal class UsageTest {
    @Test
    fun `a permit is corrected once`() = onBoth { store ->
        runBlocking {
            val shop = store.points(unique(), 1000, 20.hours)
            val answers = shop.withinLimit(estimate = 200) { permit -> List(2) { permit.pointsUsed(50) } }
            assertEquals(listOf(Settlement.SETTLED, Settlement.ALREADY), answers)
            assertEquals(950, shop.peek(cost = 0).remaining)
            val final = shop.acquire(cost = 1)
            assertEquals("estimate", assertThrows(InvalidException::class.java) { final.blocking.pointsUsed(1) }.argument)
            assertEquals(Settlement.UNKNOWN, final.release(), "no lease")
        }
    }

    @Test
    fun `a permit grows`() = onBoth { store ->
        runBlocking {
            val limits = listOf(Limit.window(500, 1.hours).labeled("rpm"), Limit.points(1000, 20.hours).labeled("tpm"))
            val model = store.limiter(unique(), limits)
            val permit = model.acquire(Call(estimate = Charge.byLabel("tpm" to 100)))
            val id = permit.id
            assertTrue(permit.extend(Charge.byLabel("tpm" to 200)).allowed)
            assertNotEquals(id, permit.id)
            assertFalse(permit.extend(Charge.byLabel("tpm" to 900)).allowed)
            assertEquals(Settlement.SETTLED, permit.correct(Charge.byLabel("tpm" to 270)))
            val look = model.peek(Call(cost = Charge.byLabel("tpm" to 0), limits = true))
            assertEquals(listOf("rpm" to 499L, "tpm" to 730L), look.limits.map { it.label to it.remaining })
        }
    }

    @Test
    fun `a lease that ends is lost`() = onBoth { store ->
        val slots = store.concurrent(unique(), 1) { lockTimeout = 20.milliseconds }.blocking
        val permit = slots.acquire()
        eventually("the lease is lost") { permit.isLost }
        // On a machine that stalls the server has granted it later than it was asked.
        eventually("the lease has ended") { slots.inspect(0, 1).leases.isEmpty() }
        assertEquals(Duration.ZERO, permit.expiresIn)
        assertFalse(permit.renew())
        assertEquals(Settlement.LATE, permit.release())
        assertTrue(permit.isLost)
    }

    @Test
    fun `a lease is renewed`() = onBoth { store ->
        val permit = store.concurrent(unique(), 1) { lockTimeout = 1.hours }.blocking.acquire()
        assertTrue(permit.renew() && permit.expiresIn!! > 59.minutes && !permit.isLost)
        assertEquals(Settlement.RELEASED, permit.release())
        assertFalse(permit.renew())
    }

    @Test
    fun `decisions are of four classes`() = onBoth { store ->
        runBlocking {
            val slots = store.concurrent(unique(), 1)
            assertTrue(slots.claim("nobody") is Decision.NoTicket)
            assertTrue(slots.tryAcquire() is Decision.Granted)
            val refused = slots.tryAcquire()
            assertTrue(refused is Decision.Refused && refused.reason == "concurrency" && !refused.allowed)
            val queued = slots.enqueue("job")
            assertTrue(queued is Decision.Queued && queued.position == 0L)
            assertEquals(Settlement.CANCELLED, slots.cancel("job"))
        }
    }

    @Test
    fun `jobs are admitted in turn`() = onBoth { store ->
        runBlocking {
            val workers = store.concurrent(unique(), 1) { lockTimeout = 1.hours }
            val running = workers.admit("a")
            for (job in listOf("b", "c")) assertEquals("wait", workers.admit(job, claimTimeout = 1.hours).action)
            assertEquals("drop", workers.admit("d", onLimit = "drop").action)
            val refused = workers.admitAll(listOf("e", "f"))
            assertTrue(refused.size == 2 && refused.none { it.permit != null })
            // "a" runs already.
            val each = workers.admitAll(listOf("a", "g"), onLimit = "drop", partial = true)
            assertEquals(listOf("run", "drop"), each.map { it.action })
            // After the loop has begun to sleep, or before: its turn comes either way.
            launch(Dispatchers.IO) { running.permit!!.release() }
            val seen = ArrayList<String>()
            workers.turns(1, 1.minutes).take(2).collect { job ->
                val admission = workers.admit(job)
                assertEquals("run", admission.action)
                admission.permit!!.release()
                seen += job
            }
            assertEquals(listOf("b", "c"), seen)
        }
    }

    @Test
    fun `jobs of a key release their leases`() = onBoth { store ->
        val options: LimiterOptions.() -> Unit = {
            keyed = true
            lockTimeout = 1.hours
        }
        val workers = store.concurrent(unique(), 1, options).blocking
        val first = workers.admit("a", Call(key = "ann"))
        val second = workers.admit("b", Call(key = "ann"))
        val other = workers.admit("c", Call(key = "bob"))
        assertEquals(listOf("run", "wait", "run"), listOf(first, second, other).map { it.action })
        assertEquals(Settlement.RELEASED, first.permit!!.release())
        assertEquals("run", workers.admit("b", Call(key = "ann")).action)
        val pairs = store.concurrent(unique(), 2, options).blocking
        val both = pairs.admitAll(listOf("d", "e"), key = "ann")
        assertEquals(listOf(Settlement.RELEASED, Settlement.RELEASED), both.map { it.permit!!.release() })
    }

    @Test
    fun `a job that is decided by itself has no estimate`() = onBoth { store ->
        // With a lease every permit has an id.
        val limits = listOf(Limit.window(10, 1.hours), Limit.concurrency(5))
        val mails = store.limiter(unique(), limits) { keyed = true }.blocking
        val each = mails.admitAll(listOf("b"), partial = true, key = "ann")
        for (job in each + mails.admit("a", Call(key = "ann"))) {
            val error = assertThrows(InvalidException::class.java) { job.permit!!.pointsUsed(0) }
            assertEquals("estimate", error.argument)
        }
        // Jobs that are decided together can be corrected.
        assertEquals(Settlement.SETTLED, mails.admitAll(listOf("c"), key = "ann").single().permit!!.pointsUsed(0))
    }

    @Test
    fun `turns end when none has come in time`() = onBoth { store ->
        val workers = store.concurrent(unique(), 1)
        assertEquals(emptyList<String>(), runBlocking { workers.turns(1, 50.milliseconds).toList() })
        workers.blocking.turns(1, 50.milliseconds).use { assertFalse(it.hasNext()) }
        assertEquals("count", assertThrows(InvalidException::class.java) { workers.blocking.turns(101).hasNext() }.argument)
    }

    @Test
    fun `limits change at run time`() = onBoth { store ->
        runBlocking {
            val api = store.window(unique(), 5, 1.hours)
            assertTrue(api.pause(1.minutes).pausedFor!! in 1.seconds..1.minutes)
            assertEquals("paused", api.tryAcquire().reason)
            api.resume()
            assertTrue(api.allow())
            val state = api.override(limit = 50, expiresIn = 1.hours)
            assertEquals(50, state.overrides.getValue("window").amount)
            assertEquals(49, api.peek().remaining)
            assertTrue(api.restore().overrides.isEmpty())
            api.blockUntil(Instant.parse("2100-01-01T00:00:00Z"))
            assertEquals("blocked", api.tryAcquire().reason)
            assertEquals("shadow", api.override(mode = "shadow").mode)
            api.reset()
            assertEquals(5, api.peek(cost = 0).remaining)
        }
    }

    @Test
    fun `a response is learned from`() = onBoth { store ->
        runBlocking {
            val shop = store.points(unique(), 1000, 20.hours)
            val permit = shop.acquire(estimate = 200)
            val body =
                """{"extensions":{"cost":{"requestedQueryCost":200,"actualQueryCost":50,
                "throttleStatus":{"maximumAvailable":1000.0,"currentlyAvailable":950,"restoreRate":50.0}}}}"""
            val learned = permit.learnFromResponse(Response(200, body = body, provider = "shopify"))
            assertEquals(Settlement.SETTLED to 50L, learned.settlement to learned.cost)
            val paused = shop.learnFromResponse(Response(429, mapOf("Retry-After" to listOf("3"))))
            assertEquals(3.seconds, paused.pause)
            assertEquals("paused", shop.tryAcquire(cost = 1).reason)
        }
    }

    @Test
    fun `limiters are listed, and loaded from documents`() = onBoth { store ->
        runBlocking {
            val name = unique()
            val document = """{ "limiters": { "$name": { "window": { "limit": 7, "per": "minute" }, "wait_timeout": "2s" } } }"""
            val loaded = store.load(document).getValue(name)
            assertTrue(loaded.allow())
            assertEquals(listOf(7L), store.limiters(name).single().limits.map { it.amount })
            assertEquals(name, store.limiterPage(name).limiters.single().name)
            val error = assertThrows(InvalidException::class.java) { store.load("""{ "limiters": { "a": { "window": 1 } } }""") }
            assertTrue("limiters.a" in error.message!!, error.message)
            assertTrue(store.load("""{ "key": "stripe", "concurrency": 3 }""", tenant = "acme").keys.single().contains("acme"))
        }
    }

    /** The library writes the failure of a call into memory that the calls of a thread share. */
    @Test
    fun `a failure is of its own call`() {
        Paddlegate("memory://").use { store ->
            val api = store.quota(unique(), 1_000_000, "year").blocking
            val failing = Call().cost(-1)
            val calls =
                List(8) {
                    CompletableFuture.runAsync {
                        repeat(500) {
                            assertEquals("cost", assertThrows(InvalidException::class.java) { api.tryAcquire(failing) }.argument)
                            assertTrue(api.allow() && api.tryAcquire().allowed)
                        }
                    }
                }
            calls.forEach { it.join() }
            assertEquals(1_000_000L - 8 * 500 * 2, api.peek().remaining)
        }
    }

    @Test
    fun `a clock of a test moves by itself only`() {
        val clock = TestClock()
        Paddlegate("memory://", clock = clock).use { store ->
            val api = store.window("api", 1, 1.minutes).blocking
            assertTrue(api.allow() && !api.allow())
            clock.advance(1.minutes)
            assertTrue(api.allow())
            assertEquals(Instant.ofEpochSecond(60), clock.now)
        }
    }

    @Test
    fun `estimates of GraphQL`() {
        assertTrue(Paddlegate.graphqlCost("{ shop { name } }") >= 1)
        assertEquals(
            "rules",
            assertThrows(InvalidException::class.java) { Paddlegate.graphqlCost("{ a }", rules = "none") }.argument,
        )
        assertTrue(Paddlegate.version.isNotEmpty())
    }
}
