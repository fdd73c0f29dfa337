package gamer.glosses

import gamer.bundle.Fields
import gamer.bundle.Misfit
import gamer.common.BundleError
import gamer.common.PyText
import java.io.File
import java.io.IOException
import java.io.RandomAccessFile
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.channels.FileChannel
import java.nio.charset.CharacterCodingException
import java.text.Normalizer
import org.json.JSONException
import org.json.JSONTokener

/** English for a word. [weight]: 0..1, 1 for the best of a sense. */
data class Gloss(val text: String, val weight: Double)

/** How an inflected word is looked up: [ending] is cut off, and [base] put in its place. */
class Rule(val ending: String, val base: String)

/**
 * What a table says of itself. [sizes]: bytes of its six sections. [rules]: of inflection, in the order in which
 * they are tried for a word that the table does not have. [links]: what a compound may have between two words.
 * [endings]: pronouns that may be written at the end of a word. [spaceless]: whether words are written without
 * spaces between them.
 */
class Header(
    val language: String,
    val words: Int,
    val senses: Int,
    val glosses: Int,
    val sizes: List<Int>,
    val rules: List<Rule>,
    val links: List<String>,
    val endings: List<String>,
    val spaceless: Boolean,
)

/**
 * The glosses of one language's words: the file `glosses-LANGUAGE.bin` of a bundle, mapped and searched by halves
 * (runtime/glosses/table.py describes it). Raises [BundleError], in one line, for a file that is none.
 */
class GlossTable(val path: File) {
    private val data: ByteBuffer
    val header: Header

    /** Where each of the six sections begins. */
    private val starts = IntArray(6)
    private val blocks: Int
    private val found = HashMap<String, List<Gloss>>()

    init {
        try {
            data = RandomAccessFile(path, "r").use { file ->
                if (file.length() > MAX_BYTES) throw Misfit("too large")
                file.channel.map(FileChannel.MapMode.READ_ONLY, 0, file.length()).order(ByteOrder.LITTLE_ENDIAN)
            }
            header = opened()
        } catch (error: IOException) {
            throw none(error.message)
        } catch (error: IndexOutOfBoundsException) {
            throw none("cut off")
        } catch (error: JSONException) {
            throw none("its header is not JSON")
        } catch (error: StackOverflowError) {
            throw none("its header is nested too deep")
        } catch (error: Misfit) {
            throw none(error.message)
        }
        blocks = header.sizes[0] / 4
    }

    val language: String get() = header.language

    /** Whether its words are in Latin letters, by the word in its middle. */
    val isLatin: Boolean by lazy {
        if (blocks == 0) true else damaged { latinScript(String(firstOf(blocks / 2))) }
    }

    /**
     * The glosses of a word or phrase in the spelling of [folded], the best first; none if it is not there. Raises
     * [BundleError] for a damaged file.
     */
    fun lookup(word: String): List<Gloss> = synchronized(found) {
        if (found.size >= MOST_KEPT) found.clear()
        found.getOrPut(word) { looked(word) }
    }

    private fun looked(word: String): List<Gloss> {
        val own = listed(word)
        if (own.isNotEmpty() || ' ' in word) return own
        for (base in bases(word, header.rules)) listed(base).let { if (it.isNotEmpty()) return it }
        return emptyList()
    }

    /** The glosses of a word as the table lists it, without the rules. */
    private fun listed(word: String): List<Gloss> {
        val key = if (word.length <= LONGEST) word.toByteArray() else return emptyList()
        if (key.isEmpty() || key.size > LONGEST || blocks == 0) return emptyList()
        val weights = LinkedHashMap<String, Double>()
        damaged {
            for (sense in sensesOf(key)) for (gloss in glossesOf(sense)) weights[gloss.text] = maxOf(weights[gloss.text] ?: 0.0, gloss.weight)
        }
        return weights.entries.sortedByDescending { it.value }.take(MOST_GLOSSES).map { Gloss(it.key, it.value) }
    }

    private fun sensesOf(key: ByteArray): List<Int> {
        var low = 0
        var high = blocks // the last block whose first word is not after the key
        while (high - low > 1) {
            val middle = (low + high) / 2
            if (compared(firstOf(middle), key) <= 0) low = middle else high = middle
        }
        var at = starts[1] + block(low)
        val end = if (low + 1 < blocks) starts[1] + block(low + 1) else starts[2].toLong()
        var word = ByteArray(0)
        var left = BLOCK
        while (at < end && left-- > 0) {
            val shared = byte(at)
            val added = byte(at + 1)
            word = word.copyOf(minOf(shared, word.size)) + bytes(at + 2, at + 2 + added)
            at += 2 + added
            val count = byte(at)
            val order = compared(word, key)
            if (order > 0) return emptyList()
            if (order == 0) return bytes(at + 1, at + 1 + 3L * count).let { all -> (all.indices step 3).map { number(all, it) } }
            at += 1 + 3 * count
        }
        return emptyList()
    }

    private fun glossesOf(sense: Int): List<Gloss> {
        if (sense >= header.senses) throw Misfit("no sense $sense")
        val begin = number(starts[2] + 4L * sense)
        val end = minOf(number(starts[2] + 4L * sense + 4), begin + 4 * MOST_GLOSSES)
        val out = ArrayList<Gloss>(MOST_GLOSSES)
        var at = starts[3] + begin
        while (at < starts[3] + end) {
            out.add(Gloss(gloss(number(bytes(at, at + 3), 0)), byte(at + 3) / 255.0))
            at += 4
        }
        return out
    }

    private fun gloss(number: Int): String {
        if (number >= header.glosses) throw Misfit("no gloss $number")
        val begin = number(starts[4] + 4L * number)
        val end = minOf(number(starts[4] + 4L * number + 4), begin + LONGEST)
        return Charsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes(starts[5] + begin, starts[5] + end))).toString()
    }

    private fun firstOf(block: Int): ByteArray = (starts[1] + block(block)).let { at -> bytes(at + 2, at + 2 + byte(at + 1)) }

    /** Where a block of words begins in its section. */
    private fun block(at: Int): Long = number(starts[0] + 4L * at)

    private fun byte(at: Long): Int = if (at in 0 until data.limit()) data.get(at.toInt()).toInt() and 0xFF else throw IndexOutOfBoundsException()

    private fun number(at: Long): Long = if (at in 0..data.limit() - 4L) data.getInt(at.toInt()).toLong() and 0xFFFFFFFFL else throw IndexOutOfBoundsException()

    /** The three bytes at [at] as a number; those that the file lacks are left out. */
    private fun number(some: ByteArray, at: Int): Int = (at until minOf(at + 3, some.size)).sumOf { (some[it].toInt() and 0xFF) shl (8 * (it - at)) }

    /** The bytes from [from] until [to], as far as the file has them. */
    private fun bytes(from: Long, to: Long): ByteArray {
        val begin = minOf(from, data.limit().toLong()).toInt()
        val end = minOf(to, data.limit().toLong()).toInt()
        return ByteArray(maxOf(0, end - begin)) { data.get(begin + it) }
    }

    private inline fun <T> damaged(read: () -> T): T = try {
        read()
    } catch (error: IndexOutOfBoundsException) {
        throw BundleError("$path: damaged (cut off): export the bundle again")
    } catch (error: CharacterCodingException) {
        throw BundleError("$path: damaged (a gloss is no text): export the bundle again")
    } catch (error: Misfit) {
        throw BundleError("$path: damaged (${error.message}): export the bundle again")
    }

    private fun none(why: String?) = BundleError("$path: not a table of glosses ($why): export the bundle again")

    private fun opened(): Header {
        if (!bytes(0, 4).contentEquals(MAGIC)) throw Misfit("another kind of file")
        val version = byte(4) or (byte(5) shl 8)
        if (version != VERSION) throw Misfit("version $version, this program reads $VERSION")
        val begin = number(6L) + START
        val read = header(JSONTokener(String(bytes(START.toLong(), begin))).nextValue())
        val want = listOf(4 * ((read.words + BLOCK - 1) / BLOCK), 4 * (read.senses + 1), 4 * (read.glosses + 1))
        if (listOf(0, 2, 4).map { read.sizes[it] } != want || begin + read.sizes.sumOf { it.toLong() } != data.limit().toLong()) {
            throw Misfit("its sections' sizes differ")
        }
        for (at in starts.indices) starts[at] = begin.toInt() + read.sizes.take(at).sum()
        return read
    }

    private fun header(raw: Any?): Header {
        val f = Fields(raw, "header", listOf("language", "words", "senses", "glosses", "sizes"), listOf("rules", "links", "endings", "spaceless", "sources"))
        val language = f.text("language")
        if (!CODE.matches(language)) throw Misfit("header.language: '${PyText.head(language, 40)}' is not a code such as de")
        few<String>(f, "sources", 32) { value, at -> Fields.textOf(value, at) }
        return Header(
            language, count(f.long("words")), count(f.long("senses")), count(f.long("glosses")),
            f.list("sizes") { value, at -> count(Fields.longOf(value, at)) }.also { if (it.size != starts.size) throw Misfit("header.sizes: ${it.size} sections") },
            few(f, "rules", 256) { value, at -> Fields(value, at, listOf("ending", "base")).let { Rule(ending(it.text("ending")), ending(it.text("base"))) } },
            few(f, "links", 16) { value, at -> Fields.textOf(value, at) },
            few(f, "endings", 32) { value, at -> ending(Fields.textOf(value, at)) },
            f.has("spaceless") && f.flag("spaceless"),
        )
    }

    private fun count(value: Long): Int = if (value in 0..(1L shl 24)) value.toInt() else throw Misfit("header: $value is no count")

    private fun ending(text: String): String = if (text.codePointCount(0, text.length) <= 8) text else throw Misfit("header: an ending of more than 8 letters")

    private fun <T> few(f: Fields, name: String, most: Int, read: (Any?, String) -> T): List<T> =
        if (!f.has(name)) emptyList() else f.list(name, read).also { if (it.size > most) throw Misfit("header.$name: more than $most") }

    companion object {
        const val MOST_WORDS = 4 // of a phrase
        const val LONGEST = 100 // bytes of a word of the table, and of a gloss
        const val LEAST_STEM = 3 // letters that an inflected word shares with its base
        private const val VERSION = 1
        private const val BLOCK = 16 // words
        private const val START = 10 // bytes before the header
        private const val MOST_GLOSSES = 4 // of a word, of a sense
        private const val MAX_BYTES = 16_000_000
        private const val MOST_KEPT = 8192 // words whose glosses are kept in memory
        private val MAGIC = "GmGl".toByteArray()
        private val CODE = Regex("[a-z]{2,3}")

        private fun compared(a: ByteArray, b: ByteArray): Int {
            for (n in 0 until minOf(a.size, b.size)) ((a[n].toInt() and 0xFF) - (b[n].toInt() and 0xFF)).let { if (it != 0) return it }
            return a.size - b.size
        }
    }
}

/** The spelling in which words are stored: lower case, composed, ß as ss, ё as е, œ as oe, æ as ae. */
fun folded(text: String): String {
    if (PyText.isAscii(text)) return PyText.lower(text)
    return PyText.casefold(Normalizer.normalize(text, Normalizer.Form.NFKC)).replace("ё", "е").replace("œ", "oe").replace("æ", "ae")
}

/** What a word may be an inflected form of, by the rules in their order. */
fun bases(word: String, rules: List<Rule>): Sequence<String> = rules.asSequence()
    .filter { word.endsWith(it.ending) && lettersOf(word) - lettersOf(it.ending) >= GlossTable.LEAST_STEM }
    .map { word.dropLast(it.ending.length) + it.base }

/** Whether a word begins with a Latin letter, or none of any script. */
fun latinScript(word: String): Boolean = word.isNotEmpty() && word.codePointAt(0).let { it <= 0x24F || it in 0x1E00..0x1EFF }

internal fun lettersOf(text: String): Int = text.codePointCount(0, text.length)
