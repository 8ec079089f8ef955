package paddlegate

import kotlin.time.Duration
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.flowOn
import paddlegate.internal.NativeReady
import paddlegate.internal.newId

/**
 * Emits the ids of queued jobs, each when its turn comes: [Limiter.ready] for a process that starts jobs and has nothing else to
 * do. It sleeps until the next turn comes, over the connection of the wake-ups, and asks by itself after at most 5 seconds.
 *
 * [count], from 1 to [MAX_READY], is how many turns one question returns at most: a loop that runs each job itself asks for 1,
 * since the others would wait for it. The flow ends when no turn has come for [waitTimeout]; without it, it does not end.
 */
@JvmSynthetic
public fun Limiter.turns(count: Long = MAX_READY, waitTimeout: Duration? = null): Flow<String> = flow {
    blocking.turns(count, waitTimeout).use { turns ->
        while (true) for (id in turns.ask() ?: return@flow) emit(id)
    }
}
    .flowOn(Dispatchers.Default)

/** Returns these ids for a thread, which closes the iterator: see [Limiter.turns]. */
@JvmSynthetic
public fun BlockingLimiter.turns(count: Long = MAX_READY, waitTimeout: Duration? = null): Turns =
    Turns(this, count, checkedWait(waitTimeout))

/** The ids of queued jobs whose turn has come. One thread at a time may use it. */
public class Turns
internal constructor(
    private val limiter: BlockingLimiter,
    private val count: Long,
    private val waitTimeout: Duration?,
) : Iterator<String>, AutoCloseable {
    private val sleeper = Sleeper(limiter, native { newId() })
    private val listed = ArrayDeque<String>()
    // When the next question is due, if the channel is still the one of the last.
    private var dueAt = 0L
    private var askedChannel = ""

    /** Waits for the next turn; false when none has come for the wait time-out. */
    override fun hasNext(): Boolean {
        if (listed.isEmpty()) asked({ sleeper.sleepBlocking(it) }, { ready() })?.let(listed::addAll)
        return listed.isNotEmpty()
    }

    override fun next(): String = if (hasNext()) listed.removeFirst() else throw NoSuchElementException()

    override fun close(): Unit = sleeper.leave()

    /** Returns the turns that come next; null when none has come in time. */
    internal suspend fun ask(): List<String>? = asked({ sleeper.sleep(it) }, { limiter.store.io { ready() } })

    private inline fun asked(sleep: (() -> Long) -> Unit, ready: () -> NativeReady): List<String>? {
        val work = limiter.store.work
        if (!work.begin(sleeper)) throw closed()
        try {
            val ends = waitTimeout?.let { monotonic() + it.waitUs } ?: Long.MAX_VALUE
            while (true) {
                sleeper.listen(true)
                sleep { minOf(due(), ends) }
                val isLast = monotonic() >= ends
                if (isLast && due() > monotonic()) return null
                sleeper.forget()
                askedChannel = sleeper.channel
                val ready = ready()
                dueAt = if (ready.ids.isEmpty()) monotonic() + ready.afterUs else 0
                if (ready.ids.isNotEmpty()) return ready.ids
                if (isLast) return null
            }
        } finally {
            work.end(sleeper)
        }
    }

    private fun ready(): NativeReady = limiter.command { limiter.native.ready(count, sleeper.id, askedChannel) }

    private fun due(): Long {
        if (sleeper.channel != askedChannel) return 0
        return minOf(sleeper.wokenAt ?: dueAt, dueAt)
    }
}
