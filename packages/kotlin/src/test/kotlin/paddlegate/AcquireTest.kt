package paddlegate

import java.util.concurrent.Executors
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicInteger
import kotlin.concurrent.thread
import kotlin.time.Duration
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.TimeoutCancellationException
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

internal class AcquireTest {
    @Test
    fun `a call waits for a release`() = onBoth { store ->
        runBlocking {
            val slots = store.concurrent(unique(), 1) { waitTimeout = 1.minutes }
            val first = slots.acquire()
            val second = async(Dispatchers.Default) { slots.acquire() }
            tickets(slots, 1)
            assertEquals(Settlement.RELEASED, first.release())
            assertTrue(second.await().fencingToken!! > first.fencingToken!!)
            assertEquals(Settlement.RELEASED, first.release(), "a second release")
        }
    }

    // Without wake-ups each would look again after up to 5 seconds, and 500 would take too long.
    @Test
    fun `many coroutines share one slot`() = onBoth { store ->
        val (inside, done) = AtomicInteger() to AtomicInteger()
        runBlocking(Dispatchers.Default) {
            val slots =
                store.concurrent(unique(), 1) {
                    waitTimeout = 5.minutes
                    lockTimeout = 5.minutes
                }
            coroutineScope {
                repeat(500) {
                    launch {
                        slots.withinLimit {
                            assertEquals(1, inside.incrementAndGet())
                            inside.decrementAndGet()
                            done.incrementAndGet()
                        }
                    }
                }
            }
        }
        assertEquals(500, done.get())
    }

    /** Each blocks its own thread. Java 17 has no virtual ones. */
    @Test
    fun `many threads share two slots`() = onBoth { store ->
        val (inside, done) = AtomicInteger() to AtomicInteger()
        val slots =
            store.concurrent(unique(), 2) {
                waitTimeout = 5.minutes
                lockTimeout = 5.minutes
            }
        val threads = Executors.newFixedThreadPool(50)
        val calls =
            List(200) {
                threads.submit {
                    slots.blocking.withinLimit {
                        assertTrue(inside.incrementAndGet() <= 2)
                        inside.decrementAndGet()
                        done.incrementAndGet()
                    }
                }
            }
        calls.forEach { it.get() }
        threads.shutdown()
        assertEquals(200, done.get())
    }

    @Test
    fun `a coroutine on a single thread waits beside the one that releases`() = onBoth { store ->
        runBlocking {
            val slots = store.concurrent(unique(), 1) { waitTimeout = 1.minutes }
            val held = slots.acquire()
            val second = async { slots.acquire() }
            val releasing = launch { held.release() }
            second.await().release()
            releasing.join()
        }
    }

    @Test
    fun `cancelling a coroutine gives its ticket back`() = onBothAtOneTime { store ->
        runBlocking {
            val slots =
                store.concurrent(unique(), 1) {
                    waitTimeout = Duration.INFINITE
                    lockTimeout = 1.hours
                }
            slots.acquire()
            val waiting = launch(Dispatchers.Default) { slots.acquire() }
            tickets(slots, 1)
            waiting.cancel()
            waiting.join()
            tickets(slots, 0)
            assertEquals(1, slots.stats().granted)
        }
    }

    @Test
    fun `a time-out of coroutines ends the wait`() = onBothAtOneTime { store ->
        runBlocking {
            val slots =
                store.concurrent(unique(), 1) {
                    waitTimeout = 1.hours
                    lockTimeout = 24.hours
                }
            slots.acquire()
            val ended = runCatching { withTimeout(100.milliseconds) { slots.acquire() } }
            assertTrue(ended.exceptionOrNull() is TimeoutCancellationException, "$ended")
            tickets(slots, 0)
        }
    }

    @Test
    fun `an interrupt of a thread gives its ticket back`() = onBothAtOneTime { store ->
        val slots =
            store.concurrent(unique(), 1) {
                waitTimeout = Duration.INFINITE
                lockTimeout = 1.hours
            }
        slots.blocking.acquire()
        var ended: Throwable? = null
        val waiting = thread { ended = runCatching { slots.blocking.acquire() }.exceptionOrNull() }
        tickets(slots, 1)
        waiting.interrupt()
        waiting.join()
        assertTrue(ended is InterruptedException, "$ended")
        tickets(slots, 0)
    }

    @Test
    fun `cancelling a future gives its ticket back`() = onBothAtOneTime { store ->
        val slots =
            store.concurrent(unique(), 1) {
                waitTimeout = Duration.INFINITE
                lockTimeout = 1.hours
            }
        val held = slots.blocking.acquireAsync().get(1, TimeUnit.MINUTES)
        val waiting = slots.blocking.acquireAsync()
        tickets(slots, 1)
        assertTrue(waiting.cancel(true))
        tickets(slots, 0)
        held.close()
        assertTrue(slots.blocking.tryAcquire().allowed)
    }

    @Test
    fun `a wait that is known to be too long is refused at once`() = onBoth { store ->
        runBlocking {
            val hourly = store.window(unique(), 1, 1.hours) { waitTimeout = 30.minutes }
            hourly.acquire()
            val over = assertThrows(OverLimitException::class.java) { runBlocking { hourly.acquire() } }
            assertEquals("window" to hourly.name, over.reason to over.limiter)
            assertTrue(over.retryAfter!! > 30.minutes && over.decision?.remaining == 0L)
            assertEquals(over.retryAfterJava!!.toNanos(), over.retryAfter.inWholeNanoseconds)
            assertEquals(1 to "over_limit", over.code to over.kind)
            assertThrows(OverLimitException::class.java) { runBlocking { hourly.acquire(waitTimeout = Duration.ZERO) } }
        }
    }

    @Test
    fun `a body that fails releases`() = onBoth { store ->
        runBlocking {
            val slots = store.concurrent(unique(), 1) { waitTimeout = Duration.ZERO }
            val broken = IllegalStateException("broken")
            val failed = runCatching { slots.withinLimit { throw broken } }
            assertTrue(failed.exceptionOrNull() === broken)
            assertTrue(runCatching { slots.blocking.withinLimit { throw broken } }.exceptionOrNull() === broken)
            assertEquals("done", slots.withinLimit { "done" })
        }
    }

    @Test
    fun `an id takes nothing twice`() = onBoth { store ->
        runBlocking {
            val slots = store.concurrent(unique(), 1) { waitTimeout = Duration.ZERO }
            val first = slots.acquire(Call(id = "order-7"))
            assertEquals(first.fencingToken, slots.acquire(Call(id = "order-7")).fencingToken)
        }
    }

    @Test
    fun `a keyed limiter waits for each key`() = onBoth { store ->
        runBlocking {
            val perUser =
                store.concurrent(unique(), 1) {
                    keyed = true
                    waitTimeout = 1.minutes
                }
            assertTrue(perUser.isKeyed && perUser.key == null)
            val ann = perUser.acquire(key = "ann")
            perUser.acquire(key = "bob", waitTimeout = Duration.ZERO)
            val again = async(Dispatchers.Default) { perUser.acquire(key = "ann") }
            tickets(perUser.withKey("ann"), 1)
            ann.release()
            again.await()
        }
    }

    @Test
    fun `limiters that decide together wait together`() = onBoth { store ->
        runBlocking {
            val group = unique()
            val org = store.concurrent(unique(), 1) { this.group = group }
            val team = store.concurrent(unique(), 2) { this.group = group }
            val both = store.together(org, team, waitTimeout = 1.minutes)
            val held = org.acquire()
            val waiting = async(Dispatchers.Default) { both.acquire() }
            tickets(org, 1)
            held.release()
            assertEquals(org.name, waiting.await().decision.limiter)
            assertNull(both.tryAcquire().permit)
        }
    }

    @Test
    fun `futures run beside each other`() = onBoth { store ->
        val rate = store.throttle(unique(), 5.milliseconds) { waitTimeout = 1.minutes }
        runBlocking { List(20) { async { rate.acquire() } }.awaitAll() }
        assertEquals(20, rate.blocking.stats().granted)
    }
}
