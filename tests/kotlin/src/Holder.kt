// Takes a lease, works and gives it back, again and again. Arguments and lines: see tests/shared/workers/holder.py.

import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import paddlegate.Limit
import paddlegate.Limiter
import paddlegate.Paddlegate

fun main(args: Array<String>): Unit = runBlocking {
    val (name, limit) = args
    val (lock, hold, rounds, loops) = args.slice(2..5).map(String::toLong)
    Paddlegate(timeout = 10.seconds).use { store ->
        val limiter = limiterOf(store, name, limit, lock)
        coroutineScope { for (loop in 1..loops) launch { for (round in 1..rounds) holdOnce(limiter, hold) } }
    }
}

private fun limiterOf(store: Paddlegate, name: String, limit: String, lock: Long): Limiter {
    val parts = limit.split("/")
    if (parts.size == 1) {
        return store.concurrent(name, limit.toLong()) {
            waitTimeout = 120.seconds
            lockTimeout = lock.milliseconds
        }
    }
    val (kind, amount, interval) = parts
    return store.limiter(name, listOf(Limit(kind, amount.toLong(), interval.toDouble().seconds))) { waitTimeout = 120.seconds }
}

private suspend fun holdOnce(limiter: Limiter, hold: Long) {
    val permit = limiter.acquire()
    val token = permit.fencingToken
    say("enter ${token ?: 0} ${permit.decision.ticket ?: 0} ${System.nanoTime()}")
    delay(hold)
    if (token == null) return
    say("leave $token ${System.nanoTime()}")
    say("answer $token ${permit.release().name.lowercase()}")
}

/** Writes a whole line at once. On Linux nanoTime is CLOCK_MONOTONIC, which all processes of the machine share. */
private fun say(line: String) {
    print("$line\n")
    System.out.flush()
}
