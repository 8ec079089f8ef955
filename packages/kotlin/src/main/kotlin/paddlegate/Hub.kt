package paddlegate

import java.util.concurrent.locks.ReentrantLock
import kotlin.concurrent.thread
import kotlin.concurrent.withLock
import paddlegate.internal.NativeWakeups
import paddlegate.internal.reconnectPauseUs

/**
 * The waiters of this process at one node. One daemon thread receives the wake-ups for all of them; it ends when there have been
 * none for a minute.
 */
internal class Hub(private val store: Paddlegate) {
    private val lock = ReentrantLock()
    private val changed = lock.newCondition()
    // By id, which several calls may have.
    private val sleepers = HashMap<String, MutableSet<Sleeper>>()
    private var isRunning = false
    private var listener: NativeWakeups? = null

    /** The channel that tickets name; empty without a connection. */
    @Volatile
    var channel: String = ""
        private set

    /** Registers a sleeper. With [open] it starts the thread, which wakes all when the channel is open. */
    fun add(sleeper: Sleeper, open: Boolean): Unit = lock.withLock {
        sleepers.getOrPut(sleeper.id, ::LinkedHashSet).add(sleeper)
        if (open && !isRunning && !store.work.isClosed) {
            isRunning = true
            thread(isDaemon = true, name = "paddlegate-wakeups", block = ::run)
        }
    }

    fun remove(sleeper: Sleeper): Unit = lock.withLock {
        val others = sleepers[sleeper.id] ?: return
        others.remove(sleeper)
        if (others.isEmpty()) sleepers.remove(sleeper.id)
    }

    /** Ends the thread of a store that is closed. */
    fun interrupt(): Unit = lock.withLock {
        listener?.interrupt()
        changed.signalAll()
    }

    private fun run() {
        var failures = 0
        while (true) {
            val limiter = limiterWithWaiters() ?: return
            if (receiveFor(limiter)) failures = 0
            pause(reconnectPauseUs(failures.toUInt()) / 1000)
            failures++
        }
    }

    private fun pause(milliseconds: Long) {
        var left = milliseconds * 1_000_000
        lock.withLock { while (left > 0 && !store.work.isClosed) left = changed.awaitNanos(left) }
    }

    /** Returns a limiter that has waiters. Without any the thread ends, and the next waiter starts another one. */
    private fun limiterWithWaiters(): BlockingLimiter? = lock.withLock {
        if (!store.work.isClosed)
            sleepers.values.firstOrNull()?.let {
                return it.first().limiter
            }
        isRunning = false
        null
    }

    /** Receives wake-ups until there are no waiters, or an error ends the connection. Returns whether there was one. */
    private fun receiveFor(limiter: BlockingLimiter): Boolean {
        val opened =
            try {
                native { limiter.native.listen() }
            } catch (_: PaddlegateException) {
                return false
            }
        try {
            // The existing tickets do not name the channel, and wake-ups may have been lost.
            open(opened).forEach(Sleeper::wake)
            while (true) {
                val wakeups = native { opened.receive(IDLE_MS) }
                for (it in wakeups) of(it.id).forEach { sleeper -> sleeper.wake(it.delayUs) }
                if (store.work.isClosed || wakeups.isEmpty() && lock.withLock { sleepers.isEmpty() }) return true
            }
        } catch (_: PaddlegateException) {
            return true
        } finally {
            lock.withLock {
                listener = null
                channel = ""
            }
            opened.close()
        }
    }

    private fun open(opened: NativeWakeups): List<Sleeper> = lock.withLock {
        listener = opened
        channel = opened.channel()
        if (store.work.isClosed) opened.interrupt()
        sleepers.values.flatten()
    }

    private fun of(id: String): List<Sleeper> = lock.withLock { sleepers[id]?.toList().orEmpty() }

    private companion object {
        val IDLE_MS = 60_000.toUInt()
    }
}
