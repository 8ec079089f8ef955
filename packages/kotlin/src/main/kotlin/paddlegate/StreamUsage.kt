package paddlegate

import paddlegate.internal.NativeStreamUsage

/**
 * Finds the usage in the body of a response that is read in chunks, without holding the body: JSON, or server-sent events with
 * JSON, of OpenAI (in chat it sends usage if the request has `stream_options` with `include_usage`), Anthropic, Gemini and Groq;
 * or GraphQL with `extensions.cost`. [body] is the body of a [Response].
 */
public class StreamUsage {
    private val native = NativeStreamUsage()

    /** What was found, as the body of a response: JSON, or "" for nothing. */
    public val body: String
        get() = native.body()

    /** What was found and not kept, with the reason; complete after the last chunk. */
    public val ignored: List<String>
        get() = native.ignored()

    /** Reads the next bytes of the body, which may end anywhere. */
    public fun feed(chunk: ByteArray): Unit = native.feed(chunk)
}
