import java.time.Instant
import java.time.temporal.ChronoUnit
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.delay
import paddlegate.Paddlegate

suspend fun main(arguments: Array<String>) {
    val pg = Paddlegate(timeout = 20.seconds)
    val api = pg.window(arguments[0], 20, 500.milliseconds)
    readLine()
    val left = mutableMapOf(true to 30, false to 30)
    while (left.values.max() > 0) {
        val decision = api.tryAcquire()
        left[decision.allowed] = left.getValue(decision.allowed) - 1
        val retry = if (decision.allowed) null else decision.retryAfter?.inWholeMicroseconds
        println("""{"at": ${ChronoUnit.MICROS.between(Instant.EPOCH, decision.at)}, "retry": $retry}""")
        delay(2.milliseconds)
    }
    pg.close()
}
