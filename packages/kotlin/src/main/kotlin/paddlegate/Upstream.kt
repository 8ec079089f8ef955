package paddlegate

import java.time.Instant
import kotlin.time.Duration
import kotlin.time.toJavaDuration
import paddlegate.internal.NativeBudget
import paddlegate.internal.NativeHeader
import paddlegate.internal.NativeLearned
import paddlegate.internal.NativeResponse

/**
 * The response of an upstream API, for [Limiter.learnFromResponse].
 *
 * @property status the status; null when it is not known.
 * @property permit the id of the permit of the call, if it had one.
 * @property provider the name of a provider, such as "shopify"; null to recognise it.
 * @property maxPause the longest pause that the response may ask for. The default is an hour.
 * @property defaultPause the pause after a refusal that does not say for how long. The default is none.
 * @property maxLearned the highest limit that is learned. The default is ten times the policy's own.
 */
public data class Response
@JvmOverloads
constructor(
    val status: Int? = null,
    val headers: Map<String, List<String>> = emptyMap(),
    val body: String = "",
    val permit: String? = null,
    val provider: String? = null,
    val maxPause: Duration? = null,
    val defaultPause: Duration? = null,
    val maxLearned: Long? = null,
) {
    internal val native: NativeResponse
        get() {
            val pairs = headers.flatMap { (name, values) -> values.map { NativeHeader(foreign(name), foreign(it)) } }
            return NativeResponse(
                status?.toLong(),
                pairs,
                foreign(body),
                whole("permit", permit),
                whole("provider", provider),
                maxPause?.us,
                defaultPause?.us,
                maxLearned,
            )
        }
}

/**
 * What an upstream reports of the budget behind one limit, for [Limiter.reportBudget]. Null is not known.
 *
 * @property label the label of the limit; null for the only one.
 * @property permit the id of the permit of the call to which the upstream replied, if it had one.
 * @property remaining the units that are left upstream.
 * @property limit the number of the limit upstream.
 * @property interval its interval, or instead of it [restoreRate]: units refilled per second.
 * @property resetIn when the interval of a bucket ends, or [resetAt].
 */
public data class Budget(
    val remaining: Long? = null,
    val limit: Long? = null,
    val interval: Duration? = null,
    val restoreRate: Double? = null,
    val resetIn: Duration? = null,
    val resetAt: Instant? = null,
    val label: String? = null,
    val permit: String? = null,
) {
    internal val native: NativeBudget
        get() =
            NativeBudget(
                whole("label", label),
                whole("permit", permit),
                remaining,
                limit,
                interval?.us,
                restoreRate,
                resetIn?.us,
                resetAt?.us,
            )
}

/**
 * What a report of the upstream changed. A value that the limiter already had is in neither list.
 *
 * @property settlement that of the permit; null when the report has no actual cost of a permit.
 * @property learned the values that changed: "limit", "interval", "remaining", "reset" and "pause"; with several limits with
 *   their label, as in "remaining[rpm]".
 * @property ignored those that changed nothing, with the reason: "remaining: calls are open".
 * @property cost the actual cost of the call, as the response reports it.
 * @property pause the pause that the response asks for.
 * @property scope what Discord reports of a refusal, as [bucket].
 */
public data class Learned
internal constructor(
    val settlement: Settlement?,
    val learned: List<String>,
    val ignored: List<String>,
    val cost: Long?,
    val pause: Duration?,
    val scope: String?,
    val bucket: String?,
) {
    /** [pause] for Java. */
    @get:JvmName("getPause")
    public val pauseJava: java.time.Duration?
        get() = pause?.toJavaDuration()

    internal companion object {
        fun of(it: NativeLearned): Learned =
            Learned(
                it.settlement?.let(Settlement::of),
                it.learned,
                it.ignored,
                it.cost,
                it.pauseUs?.duration,
                it.scope,
                it.bucket,
            )
    }
}
