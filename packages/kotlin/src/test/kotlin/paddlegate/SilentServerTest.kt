package paddlegate

import java.net.InetAddress
import java.net.ServerSocket
import java.util.concurrent.CompletableFuture
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds
import kotlin.time.measureTime
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.TimeoutCancellationException
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.yield
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** Many calls at a server that takes connections and never answers. */
internal class SilentServerTest {
    private val soak = System.getenv("PADDLEGATE_SOAK") != null

    private fun silent(timeout: Duration, use: (Paddlegate, ServerSocket) -> Unit) {
        ServerSocket(0, 2000, InetAddress.getLoopbackAddress()).use { server ->
            Paddlegate("redis://127.0.0.1:${server.localPort}", timeout).use { use(it, server) }
        }
    }

    /** Most find no place, and fail while the first are under way. */
    @Test
    fun `a thousand calls end in one and a half time-outs`() =
        silent(1.seconds) { store, _ ->
            val window = store.window("silent", 1, 1.minutes)
            val errors: List<UnavailableException>
            val took = measureTime {
                errors = runBlocking {
                    List(1000) {
                            async { runCatching { if (it % 2 == 0) window.tryAcquire() else window.acquire() }.exceptionOrNull() }
                        }
                        .awaitAll()
                        .map { it as UnavailableException }
                }
            }
            assertTrue(errors.count { it.mayHaveCounted } in MOST_CALLS until 1000)
            if (soak) assertTrue(took <= 1.6.seconds, "took=$took")
        }

    @Test
    fun `all of them are decided where the limiter decides itself`() =
        silent(200.milliseconds) { store, _ ->
            val window = store.window("silent", 1, 1.minutes) { onUnavailable = "fail_open" }
            val decisions = runBlocking { List(1000) { async { window.tryAcquire() } }.awaitAll() }
            assertTrue(decisions.all { it.allowed && it.degraded })
        }

    @Test
    fun `a time-out of the caller ends a call as it ends a delay`() =
        silent(PATIENCE) { store, server ->
            val window = store.window("silent", 1, 1.minutes)
            val slots = store.concurrent("slots", 1)
            val calls = listOf<suspend () -> Any>({ window.acquire() }, { window.tryAcquire() }, { slots.tryAcquire() })
            for (call in calls) {
                assertThrows(TimeoutCancellationException::class.java) {
                    runBlocking { withTimeout(100.milliseconds) { call() } }
                }
            }
            assertEquals(calls.size, store.work.calls.underWay, "the calls themselves go on")
            server.close()
        }

    @Test
    fun `the threads of other work stay free`() =
        silent(PATIENCE) { store, server ->
            val window = store.window("silent", 1, 1.minutes)
            runBlocking {
                val calls = List(200) { async { runCatching { window.acquire() } } }
                while (store.work.calls.underWay < MOST_CALLS) yield()
                listOf(Dispatchers.IO, Dispatchers.Default).map { async(it) {} }.awaitAll()
                assertEquals(MOST_CALLS, store.work.calls.underWay, "the calls have not ended")
                server.close()
                calls.awaitAll()
            }
        }

    /** What a virtual thread does, of which Java 17 has none. */
    @Test
    fun `a call on a thread of the store has the error of the call`() =
        silent(50.milliseconds) { store, _ ->
            val window = store.window("silent", 1, 1.minutes).blocking
            val call: CompletableFuture<Decision> = store.work.calls.submit(false, {}) { window.tryAcquire() }
            assertTrue(assertThrows(UnavailableException::class.java) { joined(call) }.mayHaveCounted)
        }
}
