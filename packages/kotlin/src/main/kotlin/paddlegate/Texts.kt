package paddlegate

/** Returns a text, or null, for the library. It takes UTF-8, which has no half of a character that is written as two. */
internal fun <T : String?> whole(argument: String, text: T): T {
    if (text != null && !isWhole(text)) throw InvalidException(argument, "must have whole characters, without a lone surrogate")
    return text
}

/** Returns a text that others wrote, whose halves of characters become question marks. */
internal fun foreign(text: String): String = if (isWhole(text)) text else String(text.toByteArray())

private fun isWhole(text: String): Boolean {
    var at = 0
    while (at < text.length) {
        val char = text[at++]
        if (!char.isSurrogate()) continue
        if (char.isLowSurrogate() || at == text.length || !text[at++].isLowSurrogate()) return false
    }
    return true
}
