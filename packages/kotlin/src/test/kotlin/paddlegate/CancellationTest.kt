package paddlegate

import kotlin.random.Random
import kotlin.time.Duration
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.microseconds
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.yield
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test

/** Coroutines that are cancelled at any moment leave neither leases nor tickets behind. */
internal class CancellationTest {
    private val seed = System.getenv("PADDLEGATE_SEED")?.toLong() ?: Random.nextLong(100_000)

    @Test fun `calls that wait`() = leavesNothing { slots, hold -> slots.withinLimit { delay(hold) } }

    @Test
    fun `calls that wait and keep their permit`() = leavesNothing { slots, _ ->
        // Whoever has the permit releases it; nobody has that of a call that was cancelled.
        slots.acquire().blocking.release()
    }

    @Test
    fun `calls that do not wait`() = leavesNothing { slots, _ ->
        slots.tryAcquire().permit?.let { slots.blocking.release(it) }
    }

    private fun leavesNothing(use: suspend (Limiter, Duration) -> Unit) = onBothAtOneTime { store ->
        println("PADDLEGATE_SEED=$seed")
        val dice = Random(seed)
        runBlocking(Dispatchers.Default) {
            val slots =
                store.concurrent(unique(), 3) {
                    waitTimeout = 1.hours
                    lockTimeout = 24.hours
                }
            repeat(if (System.getenv("PADDLEGATE_SOAK") == null) 20 else 500) {
                coroutineScope {
                    repeat(20) {
                        val (hold, until) = dice.nextInt(1000).microseconds to dice.nextInt(4000).microseconds
                        val call = launch { use(slots, hold) }
                        launch {
                            // To the microsecond, unlike a delay.
                            val ends = System.nanoTime() + until.inWholeNanoseconds
                            while (System.nanoTime() < ends) yield()
                            call.cancel()
                        }
                    }
                }
            }
            eventually("leases=0 tickets=0 seed=$seed") {
                slots.blocking.inspect(0, 0).run { leaseCount == 0L && ticketCount == 0L }
            }
            assertEquals(3, slots.peek().remaining)
        }
    }
}
