package paddlegate

import java.util.concurrent.Semaphore
import java.util.concurrent.TimeUnit.MICROSECONDS
import java.util.concurrent.atomic.AtomicLong
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.withTimeoutOrNull

/** What sleeps until a time, a wake-up or the end of its store. [id] is what the wake-ups name. */
internal class Sleeper(val limiter: BlockingLimiter, val id: String) {
    // For a coroutine and for a thread.
    private val woken = Channel<Unit>(Channel.CONFLATED)
    private val bell = Semaphore(0)
    private val wakeAt = AtomicLong(NEVER)
    private var hub: Hub? = null

    /** When the earliest wake-up since the last attempt is due; null for none. */
    val wokenAt: Long?
        get() = wakeAt.get().takeIf { it != NEVER }

    /** The channel that tickets name now; empty without one. */
    val channel: String
        get() = hub?.channel.orEmpty()

    /** Ends the sleep after a delay. */
    fun wake(delayUs: Long) {
        val at = monotonic() + delayUs
        wakeAt.accumulateAndGet(at, ::minOf)
        woken.trySend(Unit)
        bell.release()
    }

    fun wake(): Unit = wake(0)

    /** Forgets the wake-ups so far: the next attempt answers them. */
    fun forget(): Unit = wakeAt.set(NEVER)

    /**
     * Registers at the hub of the limiter if that is open, or with [open] in any case. The node of a limiter changes when a slot
     * of a cluster moves.
     */
    fun listen(open: Boolean) {
        val node = limiter.native.notificationNode()
        // A limiter without a state has no queue.
        if (node == null) return leave()
        val current = limiter.store.hubOf(node)
        if (!open && current.channel.isEmpty()) return
        if (hub !== current) {
            leave()
            hub = current
        }
        current.add(this, open)
    }

    fun leave() {
        hub?.remove(this)
        hub = null
    }

    /** Sleeps until [due] returns a time that has come. */
    suspend fun sleep(due: () -> Long): Unit = sleep(due) { withTimeoutOrNull(it.duration) { woken.receive() } }

    /** Does so on a thread, whose interrupt ends it. */
    fun sleepBlocking(due: () -> Long): Unit = sleep(due) { if (bell.tryAcquire(it, MICROSECONDS)) bell.drainPermits() }

    private inline fun sleep(due: () -> Long, rest: (Long) -> Unit) {
        while (true) {
            check(limiter.store.work)
            val left = due() - monotonic()
            if (left <= 0) return
            rest(left)
        }
    }

    private companion object {
        const val NEVER = Long.MAX_VALUE
    }
}
