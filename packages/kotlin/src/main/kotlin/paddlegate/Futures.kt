package paddlegate

import java.util.concurrent.CompletableFuture
import java.util.concurrent.CompletionStage
import java.util.function.Function
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.future.await
import kotlinx.coroutines.launch

// Where a call waits, its store ends it, and not the scope.
private val SCOPE = CoroutineScope(Dispatchers.IO)

/**
 * The future of a call. Who ends the future first, as by cancelling it, ends the call; [undo] gives back what a call has taken
 * that ended at that moment, since nobody gets it.
 */
internal fun <T> future(undo: (T) -> Unit = {}, call: suspend () -> T): CompletableFuture<T> {
    val future = CompletableFuture<T>()
    val job =
        SCOPE.launch(start = CoroutineStart.LAZY) {
            try {
                val value = call()
                if (!future.complete(value)) undo(value)
            } catch (e: Throwable) {
                // Only the future fails: a failure of the job would end the scope, and all other calls.
                future.completeExceptionally(e)
            }
        }
    future.whenComplete { _, _ -> job.cancel() }
    job.start()
    return future
}

internal fun BlockingLimiter.futurePermit(
    call: Call,
    acquire: suspend () -> BlockingPermit = { suspending.acquire(call).blocking },
): CompletableFuture<BlockingPermit> = future({ if (call.id == null) it.close() }, acquire)

internal fun BlockingLimiter.futureDecision(
    call: Call,
    decide: suspend () -> Decision = { suspending.tryAcquire(call) },
): CompletableFuture<Decision> = future({ if (call.id == null && it.lease != null) giveBack(it, call.key) }, decide)

internal fun <T> BlockingLimiter.futureWithin(
    call: Call,
    body: Function<BlockingPermit, out CompletionStage<T>>,
): CompletableFuture<T> = future { suspending.withinLimit(call) { permit -> body.apply(permit.blocking).await() } }

private fun BlockingLimiter.giveBack(decision: Decision, key: String?) {
    val one = if (key == null) this else withKey(key)
    // A lease that cannot be released ends after its lock time-out.
    decision.permit?.let { runCatching { one.release(it) } }
}
