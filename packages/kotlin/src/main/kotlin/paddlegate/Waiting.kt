package paddlegate

import java.util.concurrent.CancellationException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull
import paddlegate.internal.NativeDecision
import paddlegate.internal.NativeWaiter
import paddlegate.internal.cancelTimeoutUs
import paddlegate.internal.newId

/** One call that waits in the queue of a limiter, by the rules of the library. */
internal class Waiting(private val limiter: BlockingLimiter, private val call: Call) {
    private val work = limiter.store.work
    private val id = whole("id", call.id) ?: native { newId() }
    private val sleeper = Sleeper(limiter, id)
    private val wait = checkedWait(call.waitTimeout) ?: limiter.settings.wait
    private val rules = native { NativeWaiter(call.id == null, wait.waitUs, monotonic()) }
    private val request = call.request
    private var sentAt = 0L
    private var isSent = false
    private var isFinal = false

    /**
     * Returns the permit, or fails. It sleeps in a coroutine of Dispatchers.IO, so that the store can end it while the thread of
     * the caller closes the store.
     */
    suspend fun acquire(): BlockingPermit {
        var granted = false
        try {
            return withContext(Dispatchers.IO) { acquireHere { granted = true } }
        } catch (e: CancellationException) {
            // It was cancelled behind its grant, which its caller does not get.
            if (granted && rules.mustCancel(false)) limiter.cancelLater(id, true)
            throw e
        } finally {
            rules.close()
        }
    }

    /** Does so on the thread of a caller that may block. */
    suspend fun acquireBlocking(): BlockingPermit =
        try {
            acquireHere {}
        } finally {
            rules.close()
        }

    private inline suspend fun acquireHere(granted: () -> Unit): BlockingPermit {
        if (!work.begin(sleeper)) throw closed()
        try {
            val decision = decided()
            if (decision.allowed) {
                granted()
                // A grant that the store did not make leaves a ticket in its queue.
                if (decision.degraded) cancel(true, true)
                return BlockingPermit(limiter, decision, sentAt, call.estimate != null)
            }
            // The store has nothing of a call that it has refused.
            if (decision.degraded) cancel(false, true)
            throw limiter.overLimit(decision)
        } finally {
            work.end(sleeper)
        }
    }

    private suspend fun decided(): Decision =
        try {
            decide()
        } catch (e: Throwable) {
            // A call without an answer has used up its time, so it does not wait for this.
            cancel(false, e !is UnavailableException)
            throw e
        } finally {
            sleeper.leave()
        }

    /** Repeats the call until its decision is final. */
    private suspend fun decide(): Decision {
        sleeper.listen(false)
        while (true) {
            sleeper.forget()
            val decision = attempt(sleeper.channel)
            if (isFinal) return Decision.of(decision)
            sleeper.listen(true)
            sleeper.sleep(::due)
        }
    }

    private fun attempt(channel: String): NativeDecision {
        check(work)
        isSent = true
        sentAt = System.nanoTime()
        val decision = native { limiter.native.attempt(rules, request, id, monotonic(), channel) }
        isFinal = decision.status != "queued"
        if (isFinal) rules.onFinal(decision.status == "granted", decision.degraded)
        else isFinal = rules.onQueued(monotonic(), decision.retryAfterUs, decision.ticket)
        return decision
    }

    private fun due(): Long {
        sleeper.wokenAt?.let(rules::onWakeup)
        return rules.retryAt(sleeper.channel)
    }

    /** Gives back a ticket or a lease, for a call that has ended. With [waits] until a server that answers has done so. */
    private suspend fun cancel(isDelivered: Boolean, waits: Boolean) {
        if (isSent && rules.mustCancel(isDelivered)) limiter.cancelLater(id, waits)
    }
}

/** Cancels a call beside its caller, which waits for this only for a moment, or not at all. */
internal suspend fun BlockingLimiter.cancelLater(id: String, waits: Boolean) {
    store.work.begin()
    val cancelling =
        store.work.scope.launch {
            try {
                // What cannot be cancelled ends by itself.
                runCatching { native.cancel(id, false) }
            } finally {
                store.work.end()
            }
        }
    if (waits) withContext(NonCancellable) { withTimeoutOrNull(cancelTimeoutUs().duration) { cancelling.join() } }
}
