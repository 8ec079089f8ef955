package paddlegate

import java.time.Instant
import kotlin.time.Duration
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.withContext
import paddlegate.internal.newId

/**
 * A limiter of a [Paddlegate] store. Its calls suspend, and block no thread of the application; [blocking] has the same calls for
 * threads. All threads and coroutines may use it.
 */
public class Limiter
internal constructor(
    /** The limiter for threads. */
    public val blocking: BlockingLimiter
) {
    /** The name. */
    public val name: String
        get() = blocking.name

    /** The key of the limiter of one key, otherwise null. */
    public val key: String?
        get() = blocking.key

    /** The limits of the policy, in its order; those of each limiter in turn, where several decide together. */
    public val limits: List<Limit>
        get() = blocking.limits

    /** Whether the limiter has a state for each key. */
    public val isKeyed: Boolean
        get() = blocking.isKeyed

    override fun toString(): String = blocking.toString()

    /** Returns the limiter of one key of a keyed limiter. */
    public fun withKey(key: String): Limiter = blocking.withKey(key).suspending

    /**
     * Takes the cost as soon as every limit allows it and no call waits before it, and returns the permit. It waits for up to
     * [LimiterOptions.waitTimeout], in a queue that all processes share.
     *
     * Fails as [OverLimitException] when the time is up, or at once when the wait is known to be longer. A coroutine that is
     * cancelled gives its ticket back.
     */
    public suspend fun acquire(
        cost: Long? = null,
        estimate: Long? = null,
        key: String? = null,
        waitTimeout: Duration? = null,
    ): Permit = acquire(Call.of(cost, estimate, key, waitTimeout))

    /** See the form with arguments. */
    public suspend fun acquire(call: Call): Permit {
        val one = if (call.key == null) blocking else blocking.withKey(call.key)
        return Permit(Waiting(one, call).acquire())
    }

    /**
     * Acquires as [acquire] does, calls [body], and releases the permit, whatever [body] does. A body that fails leaves its
     * estimate charged.
     */
    public suspend fun <T> withinLimit(
        cost: Long? = null,
        estimate: Long? = null,
        key: String? = null,
        waitTimeout: Duration? = null,
        body: suspend (Permit) -> T,
    ): T = withinLimit(Call.of(cost, estimate, key, waitTimeout), body)

    /** See the form with arguments. */
    public suspend fun <T> withinLimit(call: Call, body: suspend (Permit) -> T): T {
        val permit = acquire(call)
        try {
            return body(permit)
        } finally {
            if (permit.expiresIn != null) withContext(NonCancellable) { blocking.store.io { permit.blocking.close() } }
        }
    }

    /**
     * Takes the cost if every limit allows it and no call waits before it, otherwise nothing. It never waits for a limit, and a
     * refusal is no exception. A grant of a limiter with concurrency is a lease: end it with [release].
     */
    public suspend fun tryAcquire(cost: Long? = null, estimate: Long? = null, key: String? = null): Decision =
        tryAcquire(Call.of(cost, estimate, key))

    /** See the form with arguments. */
    public suspend fun tryAcquire(call: Call): Decision {
        call.refuse("tryAcquire", *Call.OF_QUEUES, "waitTimeout")
        if (call.id != null || !blocking.grantsLeases) return deciding { tryAcquire(call) }
        val id = native { newId() }
        var isSent = false
        // A caller that is cancelled does not get the lease that it may have been granted.
        val giveBack = {
            if (isSent) runCatching { (if (call.key == null) blocking else blocking.withKey(call.key)).native.cancel(id, false) }
        }
        return blocking.store.io(blocking.settings.hasFallback, { giveBack() }) {
            isSent = true
            blocking.tryAcquireAs(id, call)
        }
    }

    /**
     * Takes the cost and returns true if every limit allows it, otherwise nothing. Invalid for a limiter with concurrency, whose
     * lease could not be released.
     */
    public suspend fun allow(cost: Long? = null, estimate: Long? = null, key: String? = null): Boolean =
        allow(Call.of(cost, estimate, key))

    /** See the form with arguments. */
    public suspend fun allow(call: Call): Boolean = deciding { allow(call) }

    /** Returns the decision that [tryAcquire] would make, and changes nothing. */
    public suspend fun peek(cost: Long? = null, estimate: Long? = null, key: String? = null): Decision =
        peek(Call.of(cost, estimate, key))

    /** See the form with arguments. */
    public suspend fun peek(call: Call): Decision = deciding { peek(call) }

    /**
     * Charges a cost in any case, up to one whole limit of debt, and returns what is left. For costs that are known only
     * afterwards. A repeated call charges again.
     */
    public suspend fun debit(charge: Charge): Decision = io { debit(charge) }

    /** See the form with a charge. */
    public suspend fun debit(units: Long): Decision = io { debit(units) }

    /**
     * Gives units back without a permit, for those who count first and give back later: the opposite of [debit]. It gives back at
     * most what is taken of each limit now, of a window the newest units. A repeated call gives back again.
     */
    public suspend fun refund(units: Charge): Decision = io { refund(units) }

    /** See the form with a charge. */
    public suspend fun refund(units: Long): Decision = io { refund(units) }

    /** Replaces the estimate of a permit by the actual cost, once, from any process: see [Permit.correct]. */
    public suspend fun correct(permit: String, actual: Charge): Settlement = io { correct(permit, actual) }

    /** See the form with a charge. */
    public suspend fun correct(permit: String, actual: Long): Settlement = io { correct(permit, actual) }

    /** Reserves more units for the call of an open permit: see [Permit.extend]. The permit of the decision has the sum. */
    public suspend fun extend(permit: String, units: Charge): Extension = io { extend(permit, units) }

    /** Ends the lease of a permit, once, from any process: see [Permit.release]. */
    public suspend fun release(permit: String): Settlement = io { release(permit) }

    /** Restarts the duration of a lease. Returns how long the lease lasts; null when it has ended. */
    public suspend fun renew(permit: String): Duration? = io { renew(permit) }

    /** Removes the ticket from the queue, and ends the lease that it may have become. */
    public suspend fun cancel(id: String): Settlement = io { cancel(id) }

    /** Deletes the state: charged units, permits, leases, tickets, statistics, overrides and a pause; of a key only its own. */
    public suspend fun reset(): Unit = io { reset() }

    /** Returns the statistics of all processes; of a keyed limiter those of all keys. */
    public suspend fun stats(): Statistics = io { stats() }

    /** Returns what was counted in each of the last 60 minutes and 48 hours. */
    public suspend fun history(): History = io { history() }

    /**
     * Returns the limits with the numbers that rule, and a page of [count] leases and tickets from [offset] on. It takes nothing.
     * The count is from 0 to 1000.
     */
    public suspend fun inspect(offset: Long? = null, count: Long? = null): Inspection = io { inspect(offset, count) }

    /** Returns a page of the tickets alone: see [inspect]. */
    public suspend fun queue(offset: Long? = null, count: Long? = null): List<TicketInfo> = io { queue(offset, count) }

    /** Decides on a job under its id: see [BlockingLimiter.admit]. */
    public suspend fun admit(
        id: String,
        call: Call = Call.PLAIN,
        onLimit: String? = null,
        claimTimeout: Duration? = null,
    ): Admission = io { admit(id, call, onLimit, claimTimeout) }

    /** Decides on several jobs, all or none, or with [partial] each by itself: see [BlockingLimiter.admitAll]. */
    public suspend fun admitAll(
        ids: List<String>,
        onLimit: String? = null,
        partial: Boolean = false,
        key: String? = null,
    ): List<Admission> = io { admitAll(ids, onLimit, partial, key) }

    /** Takes the cost, or otherwise a ticket: see [BlockingLimiter.enqueue]. */
    public suspend fun enqueue(id: String, call: Call = Call.PLAIN, claimTimeout: Duration? = null): Decision = io {
        enqueue(id, call, claimTimeout)
    }

    /** Repeats the call of a ticket: see [BlockingLimiter.claim]. */
    public suspend fun claim(id: String, call: Call = Call.PLAIN, claimTimeout: Duration? = null): Decision = io {
        claim(id, call, claimTimeout)
    }

    /** Returns queued jobs whose turn has come: see [BlockingLimiter.ready]. */
    public suspend fun ready(count: Long = MAX_READY): List<String> = io { ready(count) }

    /** Refuses every call for a time, in all processes. Calls that wait continue to wait. A pause that ends later stays. */
    public suspend fun pause(duration: Duration): RuntimeState = io { pause(duration) }

    /** Pauses until a time: see [pause]. */
    public suspend fun pauseUntil(until: Instant): RuntimeState = io { pauseUntil(until) }

    /** Refuses every call for a time, in all processes, with the reason "blocked": a pause of a key that was abused. */
    public suspend fun block(duration: Duration): RuntimeState = io { block(duration) }

    /** Blocks until a time: see [block]. */
    public suspend fun blockUntil(until: Instant): RuntimeState = io { blockUntil(until) }

    /** Ends the pause and the block in all processes, and wakes the calls that wait. */
    public suspend fun resume(): RuntimeState = io { resume() }

    /** Returns the pause, the block, the overrides and the learned limits in force. */
    public suspend fun runtimeState(): RuntimeState = io { runtimeState() }

    /**
     * Changes a limit, several limits, or the mode, in all processes and languages, until [expiresIn], [expiresAt] or [restore].
     * No older policy undoes it.
     */
    public suspend fun override(
        limit: Long? = null,
        interval: Duration? = null,
        label: String? = null,
        limits: List<Limit>? = null,
        mode: String? = null,
        expiresIn: Duration? = null,
        expiresAt: Instant? = null,
    ): RuntimeState = io { override(limit, interval, label, limits, mode, expiresIn, expiresAt) }

    /** Removes the overrides of a label; without a label all overrides, also that of the mode. */
    public suspend fun restore(label: String? = null): RuntimeState = io { restore(label) }

    /** Removes the override of the mode. */
    public suspend fun restoreMode(): RuntimeState = io { restoreMode() }

    /**
     * Applies the response of an upstream API to the limiter, in all processes: settles the permit of the call by its actual
     * cost, corrects the remaining units, learns other limits, and pauses after a refusal. Content that cannot be parsed is
     * ignored.
     */
    public suspend fun learnFromResponse(response: Response): Learned = io { learnFromResponse(response) }

    /** Applies a report of the upstream, in all processes. An older report changes nothing. */
    public suspend fun reportBudget(budget: Budget): Learned = io { reportBudget(budget) }

    /**
     * Pauses the limiter in all processes if the failure of an Open Job Spec job is a rate limit signal, and tells whether it is.
     * [document] is the failure as JSON, or an object with the failure as its "error".
     */
    public suspend fun applyOjsSignal(document: String): Boolean = io { applyOjsSignal(document) }

    /** Applies an override document of Open Job Spec, in all processes. */
    public suspend fun applyOjsOverride(document: String): RuntimeState = io { applyOjsOverride(document) }

    private suspend inline fun <T> deciding(crossinline call: BlockingLimiter.() -> T): T =
        blocking.store.io(blocking.settings.hasFallback) { blocking.call() }

    internal suspend inline fun <T> io(crossinline call: BlockingLimiter.() -> T): T = blocking.store.io { blocking.call() }
}

/** The maximum number of ids that [Limiter.ready] returns. */
public const val MAX_READY: Long = 100
