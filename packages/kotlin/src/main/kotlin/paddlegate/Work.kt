package paddlegate

import java.util.concurrent.locks.ReentrantLock
import kotlin.concurrent.withLock

/** The calls of a store that wait or are at a server, which its end waits for. */
internal class Work(patienceUs: Long) {
    private val lock = ReentrantLock()
    private val ended = lock.newCondition()
    private var underWay = 0
    private var closing = false
    private val sleepers = HashSet<Sleeper>()

    val calls = Calls(this, patienceUs)

    @Volatile
    var isClosed = false
        private set

    /** Keeps the store open until [end]; false when it is closed. */
    fun begin(sleeper: Sleeper? = null): Boolean = lock.withLock {
        if (closing && sleeper != null) return false
        underWay++
        sleeper?.let(sleepers::add)
        true
    }

    fun end(sleeper: Sleeper? = null): Unit = lock.withLock {
        underWay--
        sleeper?.let(sleepers::remove)
        ended.signalAll()
    }

    /** Ends the calls that wait. */
    fun close(interrupt: () -> Unit) {
        val waiting = lock.withLock {
            closing = true
            isClosed = true
            sleepers.toList()
        }
        waiting.forEach(Sleeper::wake)
        interrupt()
        lock.withLock { while (underWay > 0) ended.await() }
        calls.close()
    }
}

/** Fails once the store is closed. */
internal fun check(work: Work) {
    if (work.isClosed) throw closed()
}
