package paddlegate

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.withContext

/** The calls of a store that wait, and its cancellations, which its end waits for. */
internal class Work {
    private val lock = Object()
    private var underWay = 0
    private var closing = false
    private val sleepers = HashSet<Sleeper>()

    /** Runs what outlives its caller: cancellations. */
    val scope = CoroutineScope(SupervisorJob() + Dispatchers.IO)

    @Volatile
    var isClosed = false
        private set

    /** Keeps the store open until [end]; false when it is closed. */
    fun begin(sleeper: Sleeper? = null): Boolean =
        synchronized(lock) {
            if (closing && sleeper != null) return false
            underWay++
            sleeper?.let(sleepers::add)
            true
        }

    fun end(sleeper: Sleeper? = null): Unit =
        synchronized(lock) {
            underWay--
            sleeper?.let(sleepers::remove)
            lock.notifyAll()
        }

    /** Ends the calls that wait. */
    fun close(interrupt: () -> Unit) {
        val waiting = synchronized(lock) {
            closing = true
            isClosed = true
            sleepers.toList()
        }
        waiting.forEach(Sleeper::wake)
        interrupt()
        synchronized(lock) { while (underWay > 0) lock.wait() }
    }
}

/** Fails once the store is closed. */
internal fun check(work: Work) {
    if (work.isClosed) throw closed()
}

/** Makes a call that may wait for a server, off the threads of coroutines. */
internal suspend fun <T> Paddlegate.io(call: () -> T): T =
    if (inMemory) call() else withContext(Dispatchers.IO) { call() }
