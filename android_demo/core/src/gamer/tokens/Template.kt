package gamer.tokens

/** The special tokens before and after those of a text. */
internal class Template(private val before: IntArray, private val after: IntArray) {
    val size: Int get() = before.size + after.size

    fun apply(ids: IntArray): IntArray = before + ids + after

    companion object {
        val NONE = Template(IntArray(0), IntArray(0))
    }
}

/** Tokens → text. */
internal fun interface Decoder {
    fun decode(tokens: List<String>): String
}
