package paddlegate

import com.fasterxml.jackson.databind.JsonNode
import java.time.Instant
import org.junit.jupiter.api.Assertions.assertEquals
import paddlegate.internal.NativeWait

/** Makes the call of a step. */
internal fun Replay.perform(step: JsonNode): Any? {
    val it = limiter
    return when (val what = step["do"].asText()) {
        "acquire" -> {
            val decided = (1..(step.long("times") ?: 1)).map { _ -> it.tryAcquire(call(step)) }.last()
            keep(step, decided)
            last = decided
            shown(decided)
        }
        "peek" -> shown(it.peek(call(step)).also { decided -> last = decided })
        "headers" -> last!!.headers(step["fields"].asText())
        "caller_key" ->
            Paddlegate.callerKey(
                step.text("address"),
                step.text("forwarded_for"),
                step.given("trusted_proxies").orEmpty().map(JsonNode::asText),
                step.long("ipv6_prefix")?.toInt(),
            )
        "plain_key" -> step.text("text")?.let(Paddlegate::plainKey) ?: Paddlegate.plainKey(bytes(step["hex"].asText()))
        "debit" -> shown(it.debit(charge(step["cost"])!!))
        "refund" -> shown(it.refund(charge(step["units"])!!))
        "enter" -> enter(step)
        "correct" -> settled(it.correct(permit(step), charge(step["actual"])!!))
        "extend" -> {
            val extension = it.extend(permit(step), charge(step["units"])!!)
            if (extension.allowed) permits[step.text("as") ?: step["permit"].asText()] = extension.decision!!.permit!!
            extension.settlement?.let(::settled) ?: shown(extension.decision!!)
        }
        "release" -> settled(it.release(permit(step)))
        "renew" -> it.renew(permit(step))?.us
        "cancel" -> it.native.cancel(step["id"].asText(), step.given("gave_up")?.asBoolean() == true)
        "statistics" -> statistics(it.stats())
        "history" -> history(it.history())
        "inspect" -> inspection(it.inspect(step.long("offset"), step.long("count")))
        "queue" -> it.queue(step.long("offset"), step.long("count")).map(::ticket)
        "ready" -> it.ready(step.long("count") ?: MAX_READY)
        "learn" -> {
            val headers = step.given("headers").orEmpty().groupBy({ pair -> pair[0].asText() }, { pair -> pair[1].asText() })
            val id = if (step.has("permit")) permit(step) else null
            learned(
                it.learnFromResponse(
                    Response(
                        step.long("status")?.toInt(),
                        headers,
                        answer(step),
                        id,
                        step.text("provider"),
                        defaultPause = step.time("default_pause_us"),
                        maxLearned = step.long("max_learned"),
                    )
                )
            )
        }
        "sync" ->
            learned(
                it.reportBudget(
                    Budget(
                        step.long("remaining"),
                        step.long("amount"),
                        step.time("interval_us"),
                        resetIn = step.time("reset_in_us"),
                        resetAt = step.long("reset_at_us")?.instant,
                        label = step.text("label"),
                        permit = if (step.has("permit")) permit(step) else null,
                    )
                )
            )
        "reset" -> it.reset().let { null }
        "limits" -> {
            limiter = create(name, step["limits"])
            null
        }
        "together" -> null
        else -> state(change(what, step))
    }
}

private fun bytes(hex: String): ByteArray = hex.chunked(2).map { it.toInt(16).toByte() }.toByteArray()

/** Gives the body, or the usage of a body that is fed in chunks. */
private fun answer(step: JsonNode): String {
    val body = step.text("body").orEmpty()
    val length = step.long("chunk_bytes")?.toInt() ?: return body
    val usage = StreamUsage()
    body.toByteArray().asIterable().chunked(length).forEach { usage.feed(it.toByteArray()) }
    assertEquals(step["unread"].map { it.asText() }, usage.ignored)
    return usage.body
}

/** Makes the call of a step that answers with the state in force. */
private fun Replay.change(what: String, step: JsonNode): RuntimeState {
    val it = limiter
    val (span, until) = step.time("for_us") to step.long("until_us")?.instant
    val (expiresIn, expiresAt) = step.time("expires_in_us") to step.long("expires_at_us")?.instant
    return when (what) {
        "pause" -> until?.let(it::pauseUntil) ?: it.pause(span!!)
        "block" -> until?.let(it::blockUntil) ?: it.block(span!!)
        "resume" -> it.resume()
        "controls" -> it.runtimeState()
        "restore" -> it.restore(step.text("label"))
        "mode" -> {
            val mode = step.text("mode") ?: return it.restoreMode()
            it.override(mode = mode, expiresIn = expiresIn, expiresAt = expiresAt)
        }
        "overrides" -> it.override(limits = limitsOf(step["limits"]), expiresIn = expiresIn, expiresAt = expiresAt)
        "override" ->
            it.override(
                step.long("amount"),
                step.time("interval_us"),
                step.text("label"),
                expiresIn = expiresIn,
                expiresAt = expiresAt,
            )
        else -> error("there is no step $what")
    }
}

private fun Replay.call(step: JsonNode): Call =
    Call(
        cost = charge(step["cost"]),
        estimate = charge(step["estimate"]),
        settleWithin = step.time("settle_within_us"),
        priority = step.long("priority"),
        share = step.text("share"),
        weight = step.long("weight"),
        limits = step.given("describe")?.asBoolean() == true,
    )

/** Makes the call behind enqueue, claim and acquire. */
private fun Replay.enter(step: JsonNode): Any? {
    val place = step["place"]
    val wait =
        step.long("patience_us")?.let { patience ->
            val position = if (place == null || place.isNull) 0 else if (place.isNumber) place.asLong() else -1
            NativeWait(patience, step.long("grace_us") ?: 2_000_000, 0, "", position, false)
        }
    val decided =
        limiter.command("cost" to "cost") {
            Decision.of(limiter.native.acquireWithId(call(step).request, step["id"].asText(), wait))
        }
    keep(step, decided)
    val status = if (decided is Decision.NoTicket) "gone" else decided.status
    return mapOf("status" to status) +
        shown(decided).minus("allowed") +
        mapOf(
            "lease_us" to decided.lease?.us,
            "fence" to decided.fencingToken,
            "number" to decided.ticket,
            "position" to decided.position,
            "ready_after_us" to decided.readyAfter?.us,
        )
}

private fun Replay.keep(step: JsonNode, decided: Decision) {
    step.text("permit")?.let { label -> decided.permit?.let { permits[label] = it } }
}

private fun settled(settlement: Settlement) = settlement.name.lowercase()

private fun at(time: Instant?): Long = time?.us ?: 0

private fun Replay.shown(it: Decision): Map<String, Any?> = buildMap {
    put("allowed", it.allowed)
    put("limit", it.limit)
    put("remaining", it.remaining)
    put("retry_after_us", it.retryAfter?.us)
    put("reset_after_us", it.resetAfter?.us)
    put("reason", it.reason)
    put("label", it.label)
    put("at_us", at(it.at))
    if (it.isLowered) put("is_lowered", true)
    it.wouldRefuse?.let { reason -> put("would_refuse", reason) }
    it.limiter?.let { of -> put("limiter", of.removePrefix("$name.")) }
}

private fun state(it: RuntimeState): Map<String, Any?> = buildMap {
    // As in the vectors: sorted by label.
    fun numbers(limits: Map<String, Limit>) =
        limits.values
            .sortedBy { it.label }
            .map { one ->
                mapOf("label" to one.label, "kind" to one.kind, "amount" to one.amount, "interval_us" to one.interval?.us)
            }
    put("version", it.version)
    put("paused_for_us", it.pausedFor?.us)
    put("overrides", numbers(it.overrides))
    put("expires_in_us", it.expiresIn?.us)
    put("learned", numbers(it.learned))
    it.blockedFor?.let { span -> put("blocked_for_us", span.us) }
    it.mode?.let { mode -> put("mode", mode) }
}

private fun learned(it: Learned) =
    mapOf("settlement" to it.settlement?.let(::settled), "learned" to it.learned, "ignored" to it.ignored)

private fun statistics(it: Statistics): Map<String, Any?> = buildMap {
    put("granted", it.granted)
    put("refused", it.refused)
    put("waited", it.waited)
    put("wait_time_us", it.waitTime.us)
    put("units", it.units)
    put("corrections", it.corrections)
    put("held_time_us", it.heldTime.us)
    put("overages", it.overages)
    put("reclaimed", it.reclaimed)
    put("lapsed", it.lapsed)
    put("leases", it.leases)
    put("tickets", it.tickets)
    if (it.shadowRefused > 0) put("shadow_refused", it.shadowRefused)
    if (it.refusedBy.isNotEmpty()) put("refused_by", it.refusedBy)
    for ((name, counts) in listOf("waits" to it.waits, "holds" to it.holds)) {
        val shown = counts.dropLastWhile { count -> count == 0L }
        if (shown.isNotEmpty()) put(name, shown)
    }
    if (it.nearLimit > 0) put("near_limit", it.nearLimit)
    if (it.estimatedUnits != it.units) put("estimated_units", it.estimatedUnits)
}

private fun history(it: History): Map<String, Any?> {
    check(it.minutes.size == 60 && it.hours.size == 48) { "minutes=${it.minutes.size} hours=${it.hours.size}" }
    fun counted(entries: List<HistoryEntry>) =
        entries
            .filter { one -> one.granted + one.refused + one.waited + one.units > 0 }
            .map { one ->
                mapOf(
                    "start_us" to one.start.us,
                    "granted" to one.granted,
                    "refused" to one.refused,
                    "waited" to one.waited,
                    "units" to one.units,
                )
            }
    return mapOf("minutes" to counted(it.minutes), "hours" to counted(it.hours))
}

private fun ticket(it: TicketInfo) =
    mapOf("id" to it.id, "priority" to it.priority, "share" to it.share, "waited_us" to it.waited.us, "ready" to it.ready)

private fun inspection(it: Inspection) =
    mapOf(
        "at_us" to at(it.at),
        "limits" to
            it.limits.map { one ->
                mapOf(
                    "label" to one.label,
                    "kind" to one.kind,
                    "limit" to one.limit,
                    "interval_us" to one.interval.us,
                    "source" to one.source,
                    "taken" to one.taken,
                    "remaining" to one.remaining,
                    "next_after_us" to one.nextAfter?.us,
                    "reset_after_us" to one.resetAfter.us,
                )
            },
        "paused_for_us" to it.pausedFor?.us,
        "blocked_for_us" to it.blockedFor?.us,
        "mode" to it.mode,
        "leases" to
            it.leases.map { one ->
                mapOf(
                    "id" to one.id,
                    "held_for_us" to one.heldFor?.us,
                    "ends_in_us" to one.endsIn.us,
                    "fence" to one.fencingToken,
                )
            },
        "lease_count" to it.leaseCount,
        "tickets" to it.tickets.map(::ticket),
        "ticket_count" to it.ticketCount,
    )

private fun JsonNode?.orEmpty(): List<JsonNode> = this?.toList().orEmpty()
