package gamer.glosses

import gamer.album.Words
import gamer.common.Patterns
import gamer.common.PyText
import gamer.common.all
import java.text.Normalizer

/*
 * Words of other scripts in Latin letters, and names that sound alike: "Кэролайн" is Caroline
 * (runtime/glosses/letters.py). Letters are turned one by one: Cyrillic, Greek, Arabic, kana and Hangul. What sounds
 * alike is compared by consonants, because vowels, endings of cases and spellings differ between languages.
 */

// Of the letters of two names with the same consonants.
const val LEAST_ALIKE = 0.4
const val SURELY_ALIKE = 0.75

private val LATIN: Map<Int, String> = (
    "а a б b в v г g д d е e ж zh з z и i й i к k л l м m н n о o п p р r с s т t у u ф f х h ц ts ч ch " +
        "ш sh щ shch ъ _ ы y ь _ э e ю yu я ya і i ї yi є ye ґ g ў u ј j љ lj њ nj ћ c ђ dj џ dz ё e α a β v " +
        "γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ y φ f χ ch ψ ps ω o ا a " +
        "ب b ت t ث th ج j ح h خ kh د d ذ dh ر r ز z س s ش sh ص s ض d ط t ظ z ع a غ gh ف f ق q ك k ل l م m " +
        "ن n ه h و w ي y ى a ة a ء _ آ a أ a إ i پ p چ ch ژ zh گ g ک k ی y"
    ).split(' ').chunked(2).associate { (letter, latin) -> letter.codePointAt(0) to latin.replace("_", "") }

private val KANA = (
    "a a i i u u e e o o ka ga ki gi ku gu ke ge ko go sa za si zi su zu se ze so zo ta da ti di tu tu du te de to do " +
        "na ni nu ne no ha ba pa hi bi pi hu bu pu he be pe ho bo po ma mi mu me mo ya ya yu yu yo yo ra ri ru re ro wa wa wi we wo n " +
        "vu ka ke va vi ve vo"
    ).split(' ')
private val SMALL_KANA = "ku si su to nu ha hi hu he ho mu ra ri ru re ro".split(' ')
private val LEADS = "g,gg,n,d,dd,r,m,b,bb,s,ss,,j,jj,c,k,t,p,h".split(',')
private val VOWELS_OF_HANGUL = "a ae ya yae eo e yeo ye o wa wae oe yo u weo we wi yu eu yi i".split(' ')
private val TAILS = ",g,gg,gs,n,nj,nh,d,l,lg,lm,lb,ls,lt,lp,lh,m,b,bs,s,ss,ng,j,c,k,t,p,h".split(',')
private val ENDINGS = "а я у ю е и ы ой ей ами ями ого его ому ему ом ем ам ям ах ях ов ев".split(' ')
private const val VOWELS = "aeiou"
private val ALIKE = listOf(
    "dzh|dj|dz|g(?=[eiy])" to "j", "shch|sch|sh|tsch|ch|zh|ts" to "s", "ph" to "f", "ck|kh|q|c" to "k", "x" to "ks", "w" to "v", "z" to "s",
    "h|[^a-z]" to "", "y" to "i", "(.)\\1+" to "$1",
).map { (pattern, kept) -> Regex(pattern) to kept }

/** A word in Latin letters, lower case and without accents; letters that are not known are left out. */
fun latin(word: String): String {
    val out = StringBuilder()
    for (letter in PyText.codePoints(PyText.casefold(Normalizer.normalize(word, Normalizer.Form.NFC)))) out.append(latin(letter))
    return out.toString()
}

private fun latin(letter: Int): String = when (letter) {
    in 0x3041..0x3096 -> KANA[letter - 0x3041]
    in 0x30A1..0x30FA -> KANA[letter - 0x30A1]
    in 0x31F0..0x31FF -> SMALL_KANA[letter - 0x31F0]
    in 0xAC00..0xD7A3 -> (letter - 0xAC00).let { LEADS[it / 588] + VOWELS_OF_HANGUL[it % 588 / 28] + TAILS[it % 28] }
    in LATIN -> LATIN.getValue(letter)
    else -> Normalizer.normalize(String(Character.toChars(letter)), Normalizer.Form.NFD).codePointAt(0).let { plain ->
        LATIN[plain] ?: if (plain < 0x80) plain.toChar().toString().replace("_", "") else ""
    }
}

/** A word in Latin letters with letters that sound alike as one: "caroline" and "kerolain" are near. */
fun spoken(word: String): String = ALIKE.fold(word.lowercase()) { text, (pattern, kept) -> pattern.replace(text, kept) }

/** The consonants of a [spoken] word, and whether it begins with a vowel. */
fun sound(spelt: String): String = (if (spelt.isNotEmpty() && spelt[0] in VOWELS) "a" else "") + spelt.filter { it !in VOWELS }

/** The words of an album's [names], found by what they are called and by what they sound like. */
class Names(names: List<String>) {
    private val known = HashMap<String, String>()
    private val alike = HashMap<String, MutableList<Pair<String, String>>>()

    init {
        for (name in names) for (word in LETTERS.all(name)) {
            if (!Words.startsUpper(word) || word.lowercase() in known) continue
            known[word.lowercase()] = word
            if (isUpper(word)) continue // "PM" is nobody's name
            val said = spoken(latin(word))
            alike.getOrPut(sound(said)) { ArrayList() }.add(word to said)
        }
    }

    operator fun contains(word: String): Boolean = PyText.casefold(word) in known

    /**
     * The name that a word of another script says, in any case of its language; null if there is none. [least]: the
     * share of letters that must be alike beside the consonants.
     */
    fun like(word: String, least: Double): String? {
        var best: String? = null
        var share = least
        val low = PyText.casefold(word)
        for (ending in listOf("") + ENDINGS.filter { low.endsWith(it) }) {
            val said = spoken(latin(low.dropLast(ending.length)))
            if (said.length < 2) continue
            for ((name, spelt) in alike[sound(said)].orEmpty()) {
                val same = ratio(said, spelt)
                if (same > share) {
                    best = name
                    share = same
                }
            }
        }
        return best
    }

    private companion object {
        val LETTERS = Patterns.of("[^\\W\\d_]{2,}")

        /** Python's `str.isupper`. */
        fun isUpper(word: String): Boolean {
            val letters = PyText.codePoints(word)
            return letters.any { Character.isUpperCase(it) } && letters.none { Character.isLowerCase(it) || Character.isTitleCase(it) }
        }
    }
}

/** How alike two texts are, as Python's `SequenceMatcher.ratio`: twice the letters of the blocks that they share, of all. */
internal fun ratio(a: String, b: String): Double {
    if (a.isEmpty() && b.isEmpty()) return 1.0
    var same = 0
    val todo = arrayListOf(intArrayOf(0, a.length, 0, b.length))
    while (todo.isNotEmpty()) {
        val (aLow, aHigh, bLow, bHigh) = todo.removeAt(todo.size - 1)
        var beginA = aLow
        var beginB = bLow
        var size = 0
        var before = IntArray(bHigh - bLow + 1) // by letter of b: how many before it and the last of a are the same
        for (i in aLow until aHigh) {
            val now = IntArray(before.size)
            for (j in bLow until bHigh) if (a[i] == b[j]) {
                val k = before[j - bLow] + 1
                now[j - bLow + 1] = k
                if (k > size) {
                    beginA = i - k + 1
                    beginB = j - k + 1
                    size = k
                }
            }
            before = now
        }
        if (size == 0) continue
        same += size
        todo.add(intArrayOf(aLow, beginA, bLow, beginB))
        todo.add(intArrayOf(beginA + size, aHigh, beginB + size, bHigh))
    }
    return 2.0 * same / (a.length + b.length)
}
