package paddlegate

import java.util.concurrent.TimeUnit
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** A process that is killed frees its lease when that ends, and its ticket stops nobody. */
internal class KillTest {
    @Test
    fun `the lease of a killed holder ends, and the ticket of a killed waiter is passed by`() {
        Paddlegate(TEST_URL, PATIENCE).use { store ->
            val name = unique()
            val slots = store.concurrent(name, 1) { options() }
            val holder = program(name)
            assertEquals("inside", holder.inputReader().readLine())
            val waiter = program(name)
            tickets(slots, 1)
            for (killed in listOf(waiter, holder)) {
                // SIGKILL.
                killed.destroyForcibly()
                assertTrue(killed.waitFor(1, TimeUnit.MINUTES))
            }
            val permit = slots.blocking.acquire()
            assertEquals(Settlement.RELEASED, permit.release())
            assertEquals(1, slots.blocking.stats().reclaimed)
        }
    }

    private fun program(name: String): Process {
        val java = ProcessHandle.current().info().command().get()
        val builder = ProcessBuilder(java, "-cp", System.getProperty("java.class.path"), "paddlegate.KillTestKt", TEST_URL, name)
        return builder.redirectError(ProcessBuilder.Redirect.INHERIT).start()
    }
}

private fun LimiterOptions.options() {
    waitTimeout = 5.minutes
    lockTimeout = 2.seconds
}

/** Takes a lease and keeps it. */
internal fun main(args: Array<String>) {
    val (url, name) = args
    val permit = Paddlegate(url, PATIENCE).concurrent(name, 1) { options() }.blocking.acquire()
    println("inside")
    while (permit.renew()) Thread.sleep(100)
}
