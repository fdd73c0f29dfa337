package gamer.album

/** Porter's stemmer as SQLite's FTS5 has it (fts5_tokenize.c), step by step, for one lower-case token. */
internal object Porter {
    private const val MAX_TOKEN = 64

    private class Rule(val suffix: String, val with: String)

    private val STEP_2 = listOf(
        "ational" to "ate", "tional" to "tion", "enci" to "ence", "anci" to "ance", "izer" to "ize", "logi" to "log", "bli" to "ble", "alli" to "al",
        "entli" to "ent", "eli" to "e", "ousli" to "ous", "ization" to "ize", "ation" to "ate", "ator" to "ate", "alism" to "al", "iveness" to "ive",
        "fulness" to "ful", "ousness" to "ous", "aliti" to "al", "iviti" to "ive", "biliti" to "ble",
    ).map { Rule(it.first, it.second) }
    private val STEP_3 = listOf(
        "ical" to "ic", "ness" to "", "icate" to "ic", "iciti" to "ic", "ful" to "", "ative" to "", "alize" to "al",
    ).map { Rule(it.first, it.second) }
    private val STEP_4 = listOf(
        "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti", "ous", "ive", "ize",
    ).map { Rule(it, "") }

    fun stem(token: String): String {
        val size = token.toByteArray(Charsets.UTF_8).size
        if (size > MAX_TOKEN || size < 3) return token
        // SQLite counts bytes rather than letters, so each byte becomes one character here.
        val bytes = String(token.toByteArray(Charsets.UTF_8), Charsets.ISO_8859_1)
        val stemmed = steps(bytes)
        return String(stemmed.toByteArray(Charsets.ISO_8859_1), Charsets.UTF_8)
    }

    private fun steps(token: String): String {
        var w = step1b(step1a(token))
        if (w.endsWith("y") && hasVowel(w.dropLast(1))) w = w.dropLast(1) + "i"
        w = replaced(w, STEP_2) { stem, _ -> isGreater0(stem) }
        w = replaced(w, STEP_3) { stem, _ -> isGreater0(stem) }
        w = replaced(w, STEP_4) { stem, rule -> isGreater1(stem) && (rule != "ion" || stem.endsWith("s") || stem.endsWith("t")) }
        if (w.endsWith("e")) {
            val stem = w.dropLast(1)
            if (isGreater1(stem) || (isEqual1(stem) && !endsShort(stem))) w = stem
        }
        return if (w.length > 1 && w.endsWith("ll") && isGreater1(w.dropLast(1))) w.dropLast(1) else w
    }

    private fun step1a(w: String): String {
        if (!w.endsWith("s")) return w
        val n = w.length
        return when {
            w[n - 2] == 'e' -> if ((n > 4 && w[n - 4] == 's' && w[n - 3] == 's') || (n > 3 && w[n - 3] == 'i')) w.dropLast(2) else w.dropLast(1)
            w[n - 2] != 's' -> w.dropLast(1)
            else -> w
        }
    }

    private fun step1b(w: String): String {
        val cut = when {
            w.length > 3 && w.endsWith("eed") -> return if (isGreater0(w.dropLast(3))) w.dropLast(1) else w
            w.length > 2 && w.endsWith("ed") -> w.dropLast(2)
            w.length > 3 && w.endsWith("ing") -> w.dropLast(3)
            else -> return w
        }
        if (!hasVowel(cut)) return w
        for (end in listOf("at", "bl", "iz")) if (cut.length > 2 && cut.endsWith(end)) return cut + "e"
        val last = cut.last()
        return when {
            cut.length > 1 && !isVowel(last, false) && last !in "lsz" && last == cut[cut.length - 2] -> cut.dropLast(1)
            isEqual1(cut) && endsShort(cut) -> cut + "e"
            else -> cut
        }
    }

    /**
     * Applies the first rule whose suffix matches, if its condition holds; else the word stays as it is.
     * SQLite first selects the rules by the last letter but one of their suffix.
     */
    private inline fun replaced(w: String, rules: List<Rule>, holds: (String, String) -> Boolean): String {
        if (w.length < 2) return w
        val rule = rules.firstOrNull { w.length > it.suffix.length && w.endsWith(it.suffix) } ?: return w
        val stem = w.dropLast(rule.suffix.length)
        return if (holds(stem, rule.suffix)) stem + rule.with else w
    }

    private fun isVowel(c: Char, yToo: Boolean): Boolean = c in "aeiou" || (yToo && c == 'y')

    private fun hasVowel(stem: String): Boolean = stem.withIndex().any { (i, c) -> isVowel(c, i > 0) }

    /** The position after the first run of vowels and the consonant that follows it, or 0. */
    private fun gobble(stem: String, from: Int, previousIsConsonant: Boolean): Int {
        var consonant = previousIsConsonant
        var i = from
        while (i < stem.length) {
            consonant = !isVowel(stem[i], consonant)
            if (!consonant) break
            i++
        }
        i++
        while (i < stem.length) {
            consonant = !isVowel(stem[i], consonant)
            if (consonant) return i + 1
            i++
        }
        return 0
    }

    private fun isGreater0(stem: String): Boolean = gobble(stem, 0, false) > 0

    private fun isGreater1(stem: String): Boolean = gobble(stem, 0, false).let { it > 0 && gobble(stem, it, true) > 0 }

    private fun isEqual1(stem: String): Boolean = gobble(stem, 0, false).let { it > 0 && gobble(stem, it, true) == 0 }

    /** Whether the stem ends in consonant, vowel, consonant, and the last is not w, x or y. */
    private fun endsShort(stem: String): Boolean {
        if (stem.isEmpty() || stem.last() in "wxy") return false
        var mask = 0
        var consonant = false
        for (c in stem) {
            consonant = !isVowel(c, consonant)
            mask = (mask shl 1) + if (consonant) 1 else 0
        }
        return (mask and 7) == 5
    }
}
