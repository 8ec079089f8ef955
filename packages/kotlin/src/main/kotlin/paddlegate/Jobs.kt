package paddlegate

import kotlin.time.Duration
import kotlin.time.toJavaDuration
import kotlin.time.toKotlinDuration
import paddlegate.internal.NativeAdmission

/**
 * What to do with a job.
 *
 * @property action "run", "wait", "reschedule", "drop", or "refuse".
 * @property after the time until the job may run or the call should be repeated; null when no time is known, and for a job that
 *   runs or is dropped.
 * @property decision has the queue position of a job that waits.
 * @property permit that of a job that runs, otherwise null.
 */
public class Admission
internal constructor(
    public val action: String,
    public val after: Duration?,
    public val decision: Decision,
    public val permit: BlockingPermit?,
) {
    /** [after] for Java. */
    @get:JvmName("getAfter")
    public val afterJava: java.time.Duration?
        get() = after?.toJavaDuration()
}

/**
 * Decides on a job under its id, which has 1 to 64 bytes. It never waits.
 *
 * With a concurrency limit a repeated call for a running job takes nothing; a job that waits keeps its queue position, until
 * others pass it by that has not called for [claimTimeout] after its turn. A job that runs again after a failure must use another
 * id. [onLimit] is the action for a job over the limit: "wait", "reschedule", "drop" or "raise".
 */
@JvmSynthetic
public fun BlockingLimiter.admit(
    id: String,
    call: Call = Call.PLAIN,
    onLimit: String? = null,
    claimTimeout: Duration? = null,
): Admission {
    call.refuse("admit", "id", "waitTimeout")
    val one = if (call.key == null) this else withKey(call.key)
    val sentAt = System.nanoTime()
    val action = whole("onLimit", onLimit ?: settings.onLimit)
    val admission = one.command { one.native.admit(whole("id", id), action, claimTimeout?.us, call.request) }
    return one.admission(admission, sentAt, call.estimate != null)
}

/**
 * Decides on several jobs of one unit each, all or none: when one cannot run, none does, no job takes a ticket, and every
 * admission has the decision that refused. With [partial] each job is decided by itself, as by [admit].
 */
@JvmSynthetic
public fun BlockingLimiter.admitAll(
    ids: List<String>,
    onLimit: String? = null,
    partial: Boolean = false,
    key: String? = null,
): List<Admission> {
    val one = if (key == null) this else withKey(key)
    val sentAt = System.nanoTime()
    val action = whole("onLimit", onLimit ?: settings.onLimit)
    val admissions = one.command { one.native.admitAll(ids.map { whole("ids", it) }, action, partial) }
    // A job that is decided by itself has a cost, as in admit.
    return admissions.map { one.admission(it, sentAt, !partial) }
}

/**
 * Takes the cost, or otherwise a ticket in the queue under the id. A queued decision has [Decision.retryAfter], the time until
 * [claim]. A ticket that is not claimed within [claimTimeout], a minute by default, after that time loses its position. With
 * [Call.waitTimeout] a wait that is known to be longer is refused.
 */
@JvmSynthetic
public fun BlockingLimiter.enqueue(id: String, call: Call = Call.PLAIN, claimTimeout: Duration? = null): Decision =
    ticket(id, call, claimTimeout, claims = false)

/**
 * Repeats the call of a ticket, ahead of new calls: [Decision.Granted] or [Decision.Queued], or [Decision.NoTicket]: cancelled,
 * lapsed or claimed before.
 */
@JvmSynthetic
public fun BlockingLimiter.claim(id: String, call: Call = Call.PLAIN, claimTimeout: Duration? = null): Decision =
    ticket(id, call, claimTimeout, claims = true)

/**
 * Returns the ids of up to [count] queued jobs whose turn has come, in the order of the queue. It takes nothing. Each id is
 * returned once, to one process, and the job then calls [admit] or [claim] within its claim time-out. The count is from 1 to
 * [MAX_READY].
 */
@JvmSynthetic
public fun BlockingLimiter.ready(count: Long = MAX_READY): List<String> = command { native.ready(count, "", "").ids }

/** The calls of jobs, for Java. */
public object Jobs {
    /** See [BlockingLimiter.admit]. */
    @JvmStatic
    @JvmOverloads
    public fun admit(
        limiter: BlockingLimiter,
        id: String,
        call: Call = Call.PLAIN,
        onLimit: String? = null,
        claimTimeout: java.time.Duration? = null,
    ): Admission = limiter.admit(id, call, onLimit, claimTimeout?.toKotlinDuration())

    /** See [BlockingLimiter.admitAll]. */
    @JvmStatic
    @JvmOverloads
    public fun admitAll(
        limiter: BlockingLimiter,
        ids: List<String>,
        onLimit: String? = null,
        partial: Boolean = false,
        key: String? = null,
    ): List<Admission> = limiter.admitAll(ids, onLimit, partial, key)

    /** See [BlockingLimiter.enqueue]. */
    @JvmStatic
    @JvmOverloads
    public fun enqueue(
        limiter: BlockingLimiter,
        id: String,
        call: Call = Call.PLAIN,
        claimTimeout: java.time.Duration? = null,
    ): Decision = limiter.enqueue(id, call, claimTimeout?.toKotlinDuration())

    /** See [BlockingLimiter.claim]. */
    @JvmStatic
    @JvmOverloads
    public fun claim(
        limiter: BlockingLimiter,
        id: String,
        call: Call = Call.PLAIN,
        claimTimeout: java.time.Duration? = null,
    ): Decision = limiter.claim(id, call, claimTimeout?.toKotlinDuration())

    /** See [BlockingLimiter.ready]. */
    @JvmStatic
    @JvmOverloads
    public fun ready(limiter: BlockingLimiter, count: Long = MAX_READY): List<String> = limiter.ready(count)

    /** See [BlockingLimiter.turns]. */
    @JvmStatic
    @JvmOverloads
    public fun turns(
        limiter: BlockingLimiter,
        count: Long = MAX_READY,
        waitTimeout: java.time.Duration? = null,
    ): Turns = limiter.turns(count, waitTimeout?.toKotlinDuration())
}

private fun BlockingLimiter.ticket(id: String, call: Call, claimTimeout: Duration?, claims: Boolean): Decision {
    call.refuse(if (claims) "claim" else "enqueue", "id")
    return decision(call) {
        val wait = it.jobWait(claims, checkedWait(call.waitTimeout)?.waitUs, claimTimeout?.us)
        it.acquireWithId(call.request, whole("id", id), wait)
    }
}

private fun BlockingLimiter.admission(it: NativeAdmission, sentAt: Long, isEstimated: Boolean): Admission {
    val decision = Decision.of(it.decision)
    val permit = if (decision.allowed) BlockingPermit(this, decision, sentAt, isEstimated) else null
    return Admission(it.action, it.afterUs?.duration, decision, permit)
}
