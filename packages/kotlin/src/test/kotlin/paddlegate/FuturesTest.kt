package paddlegate

import java.util.concurrent.CompletableFuture
import java.util.concurrent.CountDownLatch
import java.util.concurrent.ExecutionException
import java.util.concurrent.TimeUnit.MINUTES
import java.util.concurrent.TimeoutException
import kotlin.time.Duration.Companion.hours
import kotlinx.coroutines.Job
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** What a call has taken whose future ended before it is given back. */
internal class FuturesTest {
    private val endings =
        listOf<(CompletableFuture<*>) -> Unit>({ it.cancel(true) }, { it.completeExceptionally(TimeoutException()) })

    @Test
    fun `the libraries are those of this run`() {
        val coroutines = Job::class.java.getResource("/META-INF/kotlinx_coroutines_core.version")!!.readText().trim()
        assertEquals(System.getProperty("libraries"), "${KotlinVersion.CURRENT} $coroutines")
    }

    @Test
    fun `a call is undone whose future ends with it`() {
        for (end in endings) {
            val hasBegun = CountDownLatch(1)
            val hasEnded = CountDownLatch(1)
            val undone = CompletableFuture<String>()
            val future =
                future<String>(undone::complete) {
                    hasBegun.countDown()
                    hasEnded.await()
                    "taken"
                }
            // One that ends before takes nothing.
            assertTrue(hasBegun.await(1, MINUTES))
            end(future)
            hasEnded.countDown()
            assertEquals("taken", undone.get(1, MINUTES))
        }
    }

    @Test
    fun `a permit that nobody gets is released`() = isGivenBack { limiter, call, pause ->
        limiter.futurePermit(call) { limiter.acquire(call).also { pause() } }
    }

    @Test
    fun `a lease that nobody gets is released`() = isGivenBack { limiter, call, pause ->
        limiter.futureDecision(call) { limiter.tryAcquire(call).also { pause() } }
    }

    private fun isGivenBack(start: (BlockingLimiter, Call, () -> Unit) -> CompletableFuture<*>) = onBoth { store ->
        val options: LimiterOptions.() -> Unit = {
            keyed = true
            lockTimeout = 1.hours
        }
        val slots = store.concurrent(unique(), 1, options).blocking
        val one = slots.withKey("ann")
        for (end in endings) {
            val isTaken = CountDownLatch(1)
            val hasEnded = CountDownLatch(1)
            val future =
                start(slots, Call(key = "ann")) {
                    isTaken.countDown()
                    hasEnded.await()
                }
            assertTrue(isTaken.await(1, MINUTES))
            assertEquals(1, one.inspect(0, 0).leaseCount)
            end(future)
            hasEnded.countDown()
            eventually("the lease is released") { one.inspect(0, 0).leaseCount == 0L }
        }
    }

    @Test
    fun `a call that fails does not end others`() = onBoth { store ->
        val slots = store.concurrent(unique(), 1).blocking
        val held = slots.acquireAsync().get(1, MINUTES)
        val never = CompletableFuture<Int>()
        val within = store.concurrent(unique(), 1).blocking.withinLimitAsync { never }
        val refused = slots.acquireAsync(Call().waitTimeout(java.time.Duration.ZERO))
        val error = assertThrows(ExecutionException::class.java) { refused.get(1, MINUTES) }
        assertTrue(error.cause is OverLimitException, "$error")
        never.complete(7)
        assertEquals(7, within.get(1, MINUTES))
        held.close()
        slots.acquireAsync().get(1, MINUTES).close()
    }
}
