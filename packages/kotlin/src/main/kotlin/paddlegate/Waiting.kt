package paddlegate

import java.util.concurrent.CancellationException
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit.MICROSECONDS
import java.util.concurrent.TimeoutException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.future.await
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull
import paddlegate.internal.NativeDecision
import paddlegate.internal.NativeWaiter
import paddlegate.internal.cancelTimeoutUs
import paddlegate.internal.newId

/** One call that waits in the queue of a limiter, by the rules of the library. */
internal class Waiting(private val limiter: BlockingLimiter, private val call: Call) {
    private val store = limiter.store
    private val id = whole("id", call.id) ?: native { newId() }
    private val sleeper = Sleeper(limiter, id)
    private val wait = checkedWait(call.waitTimeout) ?: limiter.settings.wait
    private val rules = native { NativeWaiter(call.id == null, wait.waitUs, monotonic()) }
    private val request = call.request
    private val waits = limiter.settings.hasFallback
    private var sentAt = 0L
    private var isSent = false
    private var isFinal = false
    // Whether an attempt is under way, which gives back what it takes if its caller goes.
    private var isAway = false

    /**
     * Returns the permit, or fails. It sleeps in a coroutine of Dispatchers.Default, so that the store can end it while the
     * thread of the caller closes the store.
     */
    suspend fun acquire(): BlockingPermit {
        var granted = false
        try {
            return withContext(Dispatchers.Default) {
                permit({ attemptAway() }, { sleeper.sleep(::due) }, { awaited(it) }).also { granted = true }
            }
        } catch (e: CancellationException) {
            // It was cancelled behind its grant, which its caller does not get.
            if (granted && rules.mustCancel(false)) awaited(limiter.cancelLater(id))
            throw e
        } finally {
            if (!isAway) rules.close()
        }
    }

    /** Does so on the thread of a caller that may block. */
    fun acquireBlocking(): BlockingPermit =
        try {
            permit({ store.away(waits) { attempt() } }, { sleeper.sleepBlocking(::due) }, ::rested)
        } finally {
            rules.close()
        }

    private inline fun permit(
        attempt: () -> NativeDecision,
        sleep: () -> Unit,
        rest: (CompletableFuture<*>) -> Unit,
    ): BlockingPermit {
        if (!store.work.begin(sleeper)) throw closed()
        try {
            val decision =
                try {
                    Decision.of(decided(attempt, sleep))
                } catch (e: Throwable) {
                    // A call without an answer has used up its time, so it does not wait for this.
                    val cancelling = if (isAway) null else cancel(false)
                    if (cancelling != null && e !is UnavailableException) rest(cancelling)
                    throw e
                } finally {
                    sleeper.leave()
                }
            // The store has nothing of a call that it has refused. A grant that it did not make leaves a ticket in its queue.
            if (decision.degraded) cancel(decision.allowed)?.let { rest(it) }
            if (!decision.allowed) throw limiter.overLimit(decision)
            return BlockingPermit(limiter, decision, sentAt, call.estimate != null)
        } finally {
            store.work.end(sleeper)
        }
    }

    /** Repeats the call until its decision is final. */
    private inline fun decided(attempt: () -> NativeDecision, sleep: () -> Unit): NativeDecision {
        sleeper.listen(false)
        while (true) {
            sleeper.forget()
            check(store.work)
            val decision = attempt()
            if (isFinal) return decision
            sleeper.listen(true)
            sleep()
        }
    }

    private suspend fun attemptAway(): NativeDecision {
        isAway = true
        try {
            val decision = store.io(waits, ::giveBack) { attempt() }
            isAway = false
            return decision
        } catch (e: PaddlegateException) {
            isAway = false
            throw e
        }
    }

    private fun attempt(): NativeDecision {
        val channel = sleeper.channel
        isSent = true
        sentAt = System.nanoTime()
        val decision = native { limiter.native.attempt(rules, request, id, monotonic(), channel) }
        isFinal = decision.status != "queued"
        if (isFinal) rules.onFinal(decision.status == "granted", decision.degraded)
        else isFinal = rules.onQueued(monotonic(), decision.retryAfterUs, decision.ticket)
        return decision
    }

    /** Gives back what an attempt has taken whose caller has gone. */
    private fun giveBack() {
        // What cannot be cancelled ends by itself.
        if (isSent && rules.mustCancel(false)) runCatching { limiter.native.cancel(id, false) }
        rules.close()
    }

    private fun due(): Long {
        sleeper.wokenAt?.let(rules::onWakeup)
        return rules.retryAt(sleeper.channel)
    }

    /** Gives back a ticket or a lease, for a call that has ended. */
    private fun cancel(isDelivered: Boolean): CompletableFuture<*>? =
        if (isSent && rules.mustCancel(isDelivered)) limiter.cancelLater(id) else null
}

/** Cancels a call beside its caller. What cannot be cancelled ends by itself. */
internal fun BlockingLimiter.cancelLater(id: String): CompletableFuture<*> = store.later { native.cancel(id, false) }

/** Waits for a cancellation, but only for a moment. */
internal suspend fun awaited(cancelling: CompletableFuture<*>) {
    withContext(NonCancellable) { withTimeoutOrNull(cancelTimeoutUs().duration) { cancelling.await() } }
}

private fun rested(cancelling: CompletableFuture<*>) {
    try {
        cancelling.get(cancelTimeoutUs(), MICROSECONDS)
    } catch (_: TimeoutException) {
        return
    }
}
