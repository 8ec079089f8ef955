package paddlegate

import java.net.InetAddress
import java.net.ServerSocket
import java.util.concurrent.ConcurrentLinkedQueue
import kotlin.time.Duration
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.yield
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

internal class CloseTest {
    /** As in a `suspend fun main`: what follows a call runs where the call was answered. */
    @Test
    fun `a coroutine without a dispatcher may close the store`() {
        val store = Paddlegate(TEST_URL, PATIENCE)
        val slots = store.concurrent(unique(), 1)
        runBlocking(Dispatchers.Unconfined) {
            slots.acquire()
            store.close()
        }
        assertThrows(InvalidException::class.java) { slots.blocking.tryAcquire() }
    }

    /** The thread that closes the store is the one on which the coroutines wait. */
    @Test
    fun `closing ends the calls that wait and gives their tickets back`() {
        for (url in listOf("memory://", TEST_URL)) {
            val clock = TestClock(1_700_000_000_000_000.instant)
            val store = Paddlegate(url, PATIENCE, clock)
            val slots =
                store.concurrent(unique(), 1) {
                    waitTimeout = Duration.INFINITE
                    lockTimeout = 1.hours
                }
            slots.blocking.acquire()
            val errors = ConcurrentLinkedQueue<Throwable>()
            runBlocking {
                repeat(20) {
                    launch {
                        try {
                            slots.acquire()
                        } catch (e: PaddlegateException) {
                            errors += e
                        }
                    }
                }
                while (slots.blocking.inspect(0, 0).ticketCount < 20) yield()
                store.close()
            }
            assertEquals(List(20) { "store" }, errors.map { (it as InvalidException).argument })
            eventually("no thread is left") { Thread.getAllStackTraces().keys.none { it.name == "paddlegate-wakeups" } }
            // The tickets were given back, not left to lapse.
            if (!store.inMemory) {
                Paddlegate(url, PATIENCE, clock).use { other ->
                    assertEquals(0, other.concurrent(slots.name, 1).blocking.inspect(0, 0).ticketCount)
                }
            }
        }
    }

    @Test
    fun `a closed store refuses every call`() {
        for (url in listOf("memory://", TEST_URL)) {
            val store = Paddlegate(url, PATIENCE)
            val window = store.window(unique(), 1, 1.minutes).blocking
            repeat(2) { store.close() }
            val calls =
                listOf(
                    { window.tryAcquire() },
                    { window.allow() },
                    { window.acquire() },
                    { window.withKey("a") },
                    { store.window(unique(), 1, 1.minutes) },
                    { store.blocking.limiters() },
                    { window.cancel("a") },
                    { window.ready() },
                    { window.turns().hasNext() },
                )
            for (call in calls) {
                assertEquals("store", assertThrows(InvalidException::class.java) { call() }.argument)
            }
        }
    }

    @Test
    fun `a store that does not answer`() {
        // It takes connections and never answers.
        ServerSocket(0, 50, InetAddress.getLoopbackAddress()).use { silent ->
            val url = "redis://127.0.0.1:${silent.localPort}"
            Paddlegate(url, 50.milliseconds).use { store ->
                val window = store.window("erp", 1, 1.minutes).blocking
                assertTrue(assertThrows(UnavailableException::class.java) { window.tryAcquire() }.mayHaveCounted)
                val error = assertThrows(UnavailableException::class.java) { window.acquire() }
                assertEquals(3 to "unavailable", error.code to error.kind)
                val slots = store.concurrent("erp", 1) { onUnavailable = "fail_open" }.blocking
                slots.acquire().use { assertTrue(it.decision.degraded) }
            }
        }
    }

    @Test
    fun `a value that is not ours is an error of its own`() {
        Paddlegate(TEST_URL, PATIENCE).use { store ->
            val name = unique()
            val limiter = store.window(name, 1, 1.minutes).blocking
            assertTrue(limiter.allow())
            val key = cli("keys", "pg2:{*}:s:$name").trim()
            assertEquals("OK", cli("set", key, "poison").trim(), key)
            val error = assertThrows(DataException::class.java) { limiter.tryAcquire() }
            assertEquals(4 to "data", error.code to error.kind)
        }
    }

    private fun cli(vararg words: String): String =
        ProcessBuilder("redis-cli", "-u", TEST_URL, *words).start().inputStream.bufferedReader().readText()
}
