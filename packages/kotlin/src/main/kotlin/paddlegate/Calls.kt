package paddlegate

import java.lang.invoke.MethodHandles
import java.lang.invoke.MethodType
import java.util.concurrent.CancellationException
import java.util.concurrent.CompletableFuture
import java.util.concurrent.CompletionException
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.RejectedExecutionException
import java.util.concurrent.ThreadPoolExecutor
import java.util.concurrent.TimeUnit.MICROSECONDS
import java.util.concurrent.TimeUnit.SECONDS
import java.util.concurrent.atomic.AtomicBoolean
import kotlin.concurrent.thread
import kotlinx.coroutines.future.await

/** How many calls of a store are at a server at once. The library keeps as many unused connections. */
internal const val MOST_CALLS: Int = 64

/**
 * The calls of a store to a server that neither a coroutine nor a virtual thread may make itself, since a call keeps its thread:
 * at most [MOST_CALLS] at once, on threads of their own. One that finds no place for [patienceUs] fails.
 */
internal class Calls(private val work: Work, private val patienceUs: Long) {
    private val threads =
        ThreadPoolExecutor(MOST_CALLS, MOST_CALLS, 10, SECONDS, LinkedBlockingQueue()) {
            thread(start = false, isDaemon = true, name = "paddlegate-call", block = it::run)
        }

    init {
        threads.allowCoreThreadTimeOut(true)
    }

    /**
     * Makes a call. Where the future ends first, [abandoned] gives back what the call may have taken, when that has ended. With
     * [waits] a call waits for its place as long as it takes.
     */
    fun <T> submit(waits: Boolean, abandoned: () -> Unit, call: () -> T): CompletableFuture<T> {
        val task = Task(abandoned, call)
        work.begin()
        try {
            threads.execute(task)
        } catch (_: RejectedExecutionException) {
            work.end()
            throw closed()
        }
        if (!waits && threads.queue.isNotEmpty())
            CompletableFuture.delayedExecutor(patienceUs, MICROSECONDS, DIRECT).execute(task::expire)
        return task.answer
    }

    /** How many calls are at a server. */
    val underWay: Int
        get() = threads.activeCount

    fun close(): Unit = threads.shutdown()

    private inner class Task<T>(private val abandoned: () -> Unit, private val call: () -> T) : Runnable {
        val answer = CompletableFuture<T>()
        private val isTaken = AtomicBoolean()

        override fun run() {
            if (!isTaken.compareAndSet(false, true)) return
            if (answer.isDone) return giveBack()
            val outcome = runCatching(call)
            // A caller without a dispatcher goes on inside of `complete`, and may close the store there.
            work.end()
            if (!outcome.fold(answer::complete, answer::completeExceptionally)) {
                work.begin()
                giveBack()
            }
        }

        fun expire() {
            if (answer.isDone || !isTaken.compareAndSet(false, true)) return
            threads.remove(this)
            work.end()
            val error = UnavailableException("no place among the calls to the server: at_once=$MOST_CALLS", false)
            if (answer.completeExceptionally(error)) return
            // The caller went at this moment. What it leaves behind needs a thread.
            work.begin()
            threads.execute(::giveBack)
        }

        private fun giveBack() {
            runCatching(abandoned)
            work.end()
        }
    }

    private companion object {
        val DIRECT = java.util.concurrent.Executor { it.run() }
    }
}

/**
 * Makes a call that may wait for a server, off the threads of coroutines. A caller that is cancelled goes at once, and
 * [abandoned] gives back what the call takes.
 */
internal suspend fun <T> Paddlegate.io(waits: Boolean = false, abandoned: () -> Unit = {}, call: () -> T): T {
    if (inMemory) return call()
    val answer = work.calls.submit(waits, abandoned, call)
    try {
        return answer.await()
    } catch (e: CancellationException) {
        // The answer has come at the moment of the cancellation.
        if (!answer.cancel(false)) later(abandoned)
        throw e
    }
}

/**
 * Makes a call that may wait for a server on this thread, unless that is a virtual one, which would keep the thread that carries
 * it.
 */
internal inline fun <T> Paddlegate.away(waits: Boolean = false, crossinline call: () -> T): T =
    if (inMemory || !isVirtual()) call() else joined(work.calls.submit(waits, {}) { call() })

/** Makes a call that nobody waits for, or for a moment only. It does not fail. */
internal fun Paddlegate.later(call: () -> Unit): CompletableFuture<*> {
    if (inMemory) return CompletableFuture.completedFuture(runCatching(call))
    return try {
        work.calls.submit(false, {}, call).handle { _, _ -> }
    } catch (_: InvalidException) {
        CompletableFuture.completedFuture(Unit)
    }
}

internal fun <T> joined(answer: CompletableFuture<T>): T =
    try {
        answer.join()
    } catch (e: CompletionException) {
        throw e.cause ?: e
    }

// Java 17 has none.
private val IS_VIRTUAL = runCatching {
    MethodHandles.publicLookup()
        .findVirtual(Thread::class.java, "isVirtual", MethodType.methodType(Boolean::class.javaPrimitiveType))
}
    .getOrNull()

internal fun isVirtual(): Boolean = IS_VIRTUAL != null && IS_VIRTUAL.invoke(Thread.currentThread()) as Boolean
