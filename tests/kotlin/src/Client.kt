// Calls a limiter. What it reads and says is in tests/timeouts/timeouts_test.py.

import java.util.concurrent.Callable
import java.util.concurrent.Executors
import kotlin.time.Duration.Companion.days
import kotlin.time.Duration.Companion.milliseconds
import paddlegate.BlockingLimiter
import paddlegate.Paddlegate
import paddlegate.PaddlegateException
import paddlegate.UnavailableException
import sun.misc.Signal

private val THREADS = Executors.newCachedThreadPool()

fun main() {
    Signal.handle(Signal("USR2")) {}
    var limiter: BlockingLimiter? = null
    for (line in generateSequence(::readLine)) {
        val words = line.split(" ")
        if (words[0] == "open") {
            limiter = open(words[1], words[2].toLong())
            println("opened")
            continue
        }
        val calls = List(words[1].toInt()) { Callable { call(limiter!!) } }
        println(THREADS.invokeAll(calls).joinToString(" ") { it.get() })
    }
    THREADS.shutdown()
}

private fun open(url: String, timeout: Long): BlockingLimiter =
    Paddlegate(url, timeout.milliseconds).bucket("timeouts", 1_000_000, 1.days).blocking

private fun call(limiter: BlockingLimiter): String {
    val began = System.nanoTime()
    val what =
        try {
            limiter.tryAcquire()
            "answered"
        } catch (e: UnavailableException) {
            "unavailable"
        } catch (e: PaddlegateException) {
            e.javaClass.simpleName
        }
    return "%.1f %s".format((System.nanoTime() - began) / 1e6, what)
}
