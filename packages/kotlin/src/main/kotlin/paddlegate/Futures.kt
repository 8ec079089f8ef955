package paddlegate

import java.util.concurrent.CompletableFuture
import java.util.concurrent.CompletionStage
import java.util.function.Function
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.future.await
import kotlinx.coroutines.future.future

// Where a call waits, its store ends it, and not the scope.
private val SCOPE = CoroutineScope(Dispatchers.IO)

internal fun <T> future(call: suspend () -> T): CompletableFuture<T> = SCOPE.future { call() }

internal fun <T> BlockingLimiter.futureWithin(
    call: Call,
    body: Function<BlockingPermit, out CompletionStage<T>>,
): CompletableFuture<T> = SCOPE.future { suspending.withinLimit(call) { permit -> body.apply(permit.blocking).await() } }
