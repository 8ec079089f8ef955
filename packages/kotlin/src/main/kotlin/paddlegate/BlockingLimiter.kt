package paddlegate

import java.time.Instant
import java.util.concurrent.CompletableFuture
import java.util.concurrent.CompletionStage
import java.util.function.Function
import kotlin.time.Duration
import kotlin.time.toKotlinDuration
import paddlegate.internal.NativeDecision
import paddlegate.internal.NativeLimiter
import paddlegate.internal.NativeOverride
import paddlegate.internal.NativeRuntimeState
import paddlegate.internal.newId

/** What a limiter has beside its native part. */
internal class Settings(
    val name: String,
    val wait: Duration,
    val onLimit: String,
    /** Whether it decides itself while the store cannot. The library does not ask a server then that has not answered. */
    val hasFallback: Boolean,
    val key: String? = null,
)

/** What [BlockingLimiter.withinLimit] runs. It may throw any exception, which its caller gets. */
public fun interface PermitBody<T> {
    /** Runs with the permit. */
    @Throws(Exception::class) public fun run(permit: BlockingPermit): T
}

/**
 * A limiter whose calls block their thread: those that wait for up to their time-out, the others for one call to the store. For
 * Java, and for Kotlin without coroutines. All threads may use it.
 */
public class BlockingLimiter
internal constructor(
    internal val store: Paddlegate,
    internal val native: NativeLimiter,
    internal val settings: Settings,
) {
    private val leases = native.grantsLeases()

    /** The limiter for coroutines. */
    public val suspending: Limiter = Limiter(this)

    /** The name. */
    public val name: String
        get() = settings.name

    /** The key of the limiter of one key, otherwise null. */
    public val key: String?
        get() = settings.key

    /** The limits of the policy, in its order; those of each limiter in turn, where several decide together. */
    public val limits: List<Limit>
        get() = native.limits().map(Limit::of)

    /** Whether the limiter has a state for each key. */
    public val isKeyed: Boolean
        get() = native.isKeyed()

    /** Whether grants are leases. */
    internal val grantsLeases: Boolean
        get() = leases

    override fun toString(): String = if (key == null) "Limiter($name)" else "Limiter($name, key=$key)"

    /** Returns the limiter of one key of a keyed limiter. */
    public fun withKey(key: String): BlockingLimiter {
        check(store.work)
        val one = native { native.withKey(whole("key", key)) }
        return BlockingLimiter(store, one, Settings(name, settings.wait, settings.onLimit, settings.hasFallback, key))
    }

    /** See [Limiter.allow]. */
    @JvmOverloads
    public fun allow(call: Call = Call.PLAIN): Boolean {
        if (call == Call.PLAIN) return deciding { native.allowOne() }
        call.refuse("allow", "id", "limits", *Call.OF_QUEUES, "waitTimeout")
        native { native.checkAllow() }
        return tryAcquire(call).allowed
    }

    /** See [Limiter.tryAcquire]. */
    @JvmOverloads
    public fun tryAcquire(call: Call = Call.PLAIN): Decision {
        call.refuse("tryAcquire", *Call.OF_QUEUES, "waitTimeout")
        if (call.id == null && !leases) return decision(call) { it.acquire(call.request) }
        // A lease without an answer can only be ended by an id.
        val id = call.id ?: native { newId() }
        return tryAcquireAs(id, call)
    }

    internal fun tryAcquireAs(id: String, call: Call): Decision =
        try {
            decision(call) { it.acquireWithId(call.request, whole("id", id), null) }
        } catch (e: UnavailableException) {
            if (call.id == null && e.mayHaveCounted) {
                val one = if (call.key == null) this else withKey(call.key)
                one.cancelLater(id)
            }
            throw e
        }

    /** See [Limiter.acquire]. An interrupt ends the wait, as the cancellation of a coroutine does. */
    @JvmOverloads
    @Throws(InterruptedException::class)
    public fun acquire(call: Call = Call.PLAIN): BlockingPermit {
        val one = if (call.key == null) this else withKey(call.key)
        return Waiting(one, call).acquireBlocking()
    }

    /** See [Limiter.withinLimit]. An interrupt ends the wait. */
    @JvmOverloads
    @Throws(Exception::class)
    public fun <T> withinLimit(call: Call = Call.PLAIN, body: PermitBody<T>): T = acquire(call).use { body.run(it) }

    /** Acquires without blocking. Who cancels the future ends the wait. */
    @JvmOverloads public fun acquireAsync(call: Call = Call.PLAIN): CompletableFuture<BlockingPermit> = futurePermit(call)

    /** Decides without blocking: see [tryAcquire]. */
    @JvmOverloads public fun tryAcquireAsync(call: Call = Call.PLAIN): CompletableFuture<Decision> = futureDecision(call)

    /** Acquires, calls [body], and releases the permit when the stage of [body] has ended; nothing of it blocks. */
    @JvmOverloads
    public fun <T> withinLimitAsync(
        call: Call = Call.PLAIN,
        body: Function<BlockingPermit, out CompletionStage<T>>,
    ): CompletableFuture<T> = futureWithin(call, body)

    /** See [Limiter.peek]. */
    @JvmOverloads
    public fun peek(call: Call = Call.PLAIN): Decision {
        call.refuse("peek", "id", *Call.OF_QUEUES, "waitTimeout")
        return decision(call) { it.peek(call.request) }
    }

    /** See [Limiter.debit]. */
    public fun debit(charge: Charge): Decision = command("cost" to "charge") { Decision.of(native.debit(charge.native)) }

    /** See [Limiter.debit]. */
    public fun debit(units: Long): Decision = debit(Charge.of(units))

    /** See [Limiter.refund]. */
    public fun refund(units: Charge): Decision = command { Decision.of(native.refund(units.native)) }

    /** See [Limiter.refund]. */
    public fun refund(units: Long): Decision = refund(Charge.of(units))

    /** See [Limiter.correct]. */
    public fun correct(permit: String, actual: Charge): Settlement = command {
        Settlement.of(native.correct(whole("permit", permit), actual.native))
    }

    /** See [Limiter.correct]. */
    public fun correct(permit: String, actual: Long): Settlement = correct(permit, Charge.of(actual))

    /** See [Limiter.extend]. */
    public fun extend(permit: String, units: Charge): Extension = command {
        val it = native.extend(whole("permit", permit), units.native)
        Extension(it.decision?.let(Decision::of), it.settlement?.let(Settlement::of))
    }

    /** See [Limiter.release]. */
    public fun release(permit: String): Settlement = command { Settlement.of(native.release(whole("permit", permit))) }

    /** See [Limiter.renew]. */
    @JvmName("renewKotlin")
    public fun renew(permit: String): Duration? = command { native.renew(whole("permit", permit))?.duration }

    /** See [Limiter.cancel]. */
    public fun cancel(id: String): Settlement = command { Settlement.of(native.cancel(whole("id", id), false)) }

    /** See [Limiter.reset]. */
    public fun reset(): Unit = command { native.reset() }

    /** See [Limiter.stats]. */
    public fun stats(): Statistics = command { Statistics.of(native.statistics()) }

    /** See [Limiter.history]. */
    public fun history(): History = command { History.of(native.history()) }

    /** See [Limiter.inspect]. */
    @JvmOverloads
    public fun inspect(offset: Long? = null, count: Long? = null): Inspection = command {
        Inspection.of(native.inspect(offset, count))
    }

    /** See [Limiter.queue]. */
    @JvmOverloads public fun queue(offset: Long? = null, count: Long? = null): List<TicketInfo> = inspect(offset, count).tickets

    /** See [Limiter.runtimeState]. */
    public fun runtimeState(): RuntimeState = state { runtimeState() }

    /** See [Limiter.pause]. */
    public fun pause(duration: Duration): RuntimeState = state { pause(duration.us, null) }

    /** See [Limiter.pause]. */
    public fun pause(duration: java.time.Duration): RuntimeState = pause(duration.toKotlinDuration())

    /** See [Limiter.pause]. */
    public fun pauseUntil(until: Instant): RuntimeState = state { pause(null, until.us) }

    /** See [Limiter.block]. */
    public fun block(duration: Duration): RuntimeState = state { block(duration.us, null) }

    /** See [Limiter.block]. */
    public fun block(duration: java.time.Duration): RuntimeState = block(duration.toKotlinDuration())

    /** See [Limiter.block]. */
    public fun blockUntil(until: Instant): RuntimeState = state { block(null, until.us) }

    /** See [Limiter.resume]. */
    public fun resume(): RuntimeState = state { resume() }

    /** See [Limiter.override]. */
    @JvmSynthetic
    public fun override(
        limit: Long? = null,
        interval: Duration? = null,
        label: String? = null,
        limits: List<Limit>? = null,
        mode: String? = null,
        expiresIn: Duration? = null,
        expiresAt: Instant? = null,
    ): RuntimeState = state {
        overrideLimits(
            NativeOverride(
                limit,
                interval?.us,
                whole("label", label),
                limits?.map(Limit::native),
                whole("mode", mode),
                expiresIn?.us,
                expiresAt?.us,
            )
        )
    }

    /** Gives the only limit another number for a time, null for as long as nobody restores it: see [Limiter.override]. */
    public fun override(limit: Long, expiresIn: java.time.Duration?): RuntimeState =
        override(limit = limit, expiresIn = expiresIn?.toKotlinDuration())

    /** See [Limiter.override]. What is null stays as it is. */
    public fun override(
        limit: Long?,
        interval: java.time.Duration?,
        label: String?,
        limits: List<Limit>?,
        mode: String?,
        expiresIn: java.time.Duration?,
        expiresAt: Instant?,
    ): RuntimeState = override(limit, interval?.toKotlinDuration(), label, limits, mode, expiresIn?.toKotlinDuration(), expiresAt)

    /** See [Limiter.restore]. */
    @JvmOverloads public fun restore(label: String? = null): RuntimeState = state { restore(whole("label", label)) }

    /** See [Limiter.restoreMode]. */
    public fun restoreMode(): RuntimeState = state { restoreMode() }

    /** See [Limiter.learnFromResponse]. */
    public fun learnFromResponse(response: Response): Learned = command { Learned.of(native.learnFromResponse(response.native)) }

    /** See [Limiter.reportBudget]. */
    public fun reportBudget(budget: Budget): Learned = command { Learned.of(native.reportBudget(budget.native)) }

    /** See [Limiter.applyOjsSignal]. */
    public fun applyOjsSignal(document: String): Boolean = command { native.applyOjsSignal(whole("document", document)) }

    /** See [Limiter.applyOjsOverride]. */
    public fun applyOjsOverride(document: String): RuntimeState = state { applyOjsOverride(whole("document", document)) }

    internal fun overLimit(decision: Decision) =
        OverLimitException(decision.limiter ?: name, decision.reason, decision.retryAfter, decision)

    /** Makes a call on an open store. */
    internal inline fun <T> command(vararg names: Pair<String, String>, crossinline call: () -> T): T {
        check(store.work)
        return store.away { native(*names) { call() } }
    }

    /** Makes a call that decides. */
    private inline fun <T> deciding(crossinline call: () -> T): T {
        check(store.work)
        return store.away(settings.hasFallback) { native { call() } }
    }

    /** Makes a call whose answer is a decision, of the limiter of its key. */
    internal inline fun decision(call: Call, crossinline decide: (NativeLimiter) -> NativeDecision): Decision =
        Decision.of(
            deciding { if (call.key == null) decide(native) else native.withKey(whole("key", call.key)).use { decide(it) } }
        )

    private inline fun state(crossinline call: NativeLimiter.() -> NativeRuntimeState): RuntimeState = command {
        RuntimeState.of(native.call())
    }
}
