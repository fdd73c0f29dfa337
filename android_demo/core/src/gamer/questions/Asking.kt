package gamer.questions

/**
 * The request that a text makes (runtime/questions/request.py). [words]: of the request, without what only asks. [asks]: "photos",
 * "when", "where", "who", "count" or "fact". [story]: what was told before, to which it refers; [sentence]: the whole of it.
 * [isQuestion]: whether it begins as one; [isClosed]: whether yes or no answers it; [was]: whether that is asked with "was" or "were".
 * [isAsked]: whether photos are asked for. [did]: whether it says what the photographer did. [everything]: whether all that fits is
 * meant ("what else did I …"). [isOfAPhoto]: whether its subject is one ("which photo …").
 */
internal data class Asking(
    val words: List<Word>,
    val asks: String = "photos",
    val story: List<Word> = emptyList(),
    val sentence: List<Word> = emptyList(),
    val isQuestion: Boolean = false,
    val isClosed: Boolean = false,
    val was: Boolean = false,
    val isAsked: Boolean = false,
    val did: Boolean = false,
    val everything: Boolean = false,
    val isOfAPhoto: Boolean = false,
)

/** Tells what of a text is the request, what is told before it, and what is asked for: photos, a time, a number. */
internal class AskingReader(vocabulary: Vocabulary, private val phrases: Phrases) {
    private val onlyAsking = vocabulary.roles("only_asking")

    /** [start]: the number of words that say what is asked for. */
    private data class Beginning(val asks: String = "photos", val start: Int = 0, val isClosed: Boolean = false)

    /** The request that a text makes: of several sentences the last question, else the last that asks. */
    fun read(words: List<Word>): Asking {
        val marked = sentences(words)
        val sentences = marked.map { sentence -> sentence.filter { it.text != "?" } }
        var asking = sentences.indices.filter { requests(sentences[it]) }
        val tells = sentences.dropLast(1).any { it.size > STORY && isTold(it) }
        if (asking.isEmpty() && tells && (marked.last().last().text == "?" || !isTold(sentences.last()))) {
            asking = listOf(sentences.size - 1) // "Somebody made a giant paella. Crowd shots from that same event"
        }
        if (asking.isEmpty()) return asked(trimmed(words), emptyList())
        val chosen = asking.lastOrNull { marked[it].last().text == "?" } ?: asking.last()
        val sentence = sentences[chosen]
        if (chosen > 0) {
            val asks = onlyAsks(sentence)
            if (asks.isNotEmpty()) return asked(sentences[chosen - 1], emptyList()).copy(asks = asks, isQuestion = true)
            if (onlyRefers(sentence)) return asked(sentences[chosen - 1], emptyList()).copy(isAsked = true)
        }
        sentences.take(chosen).lastOrNull { it.size > STORY }?.let { return asked(sentence, mainClause(it)).copy(sentence = it) }
        val (story, request) = toldBefore(sentence)
        return asked(sentences.take(chosen).flatten() + request, story)
    }

    // Sentences and what they refer to

    /** The sentences, without their full stops; a question keeps its mark. */
    private fun sentences(words: List<Word>): List<List<Word>> {
        val runs = arrayListOf(ArrayList<Word>())
        for ((at, word) in words.withIndex()) {
            if (word.text !in ENDS && !introduces(words, at)) {
                runs.last().add(word)
                continue
            }
            if (word.text == "?" && runs.last().isNotEmpty()) runs.last().add(word)
            runs.add(ArrayList())
        }
        return runs.filter { it.isNotEmpty() }
    }

    /** A colon before a question or a request. */
    private fun introduces(words: List<Word>, at: Int): Boolean {
        if (words[at].text != ":") return false
        val rest = trimmed(words.drop(at + 1), "filler")
        return rest.isNotEmpty() && (rest[0].has("aux", "modal", "when", "where", "which", "who") || opening(rest) > 0)
    }

    /** Whether a sentence asks for something. */
    private fun requests(sentence: List<Word>): Boolean {
        val plain = trimmed(sentence, "filler")
        if (plain.isEmpty()) return false
        if (plain[0].has(*QUESTIONS) || plain[0].has("aux", "modal", "request") || Vocabulary.indexOf(plain, "request") >= 0) return true
        return split(plain) { it.text == "," || it.text == ":" }.drop(1).any(::beginsQuestion)
    }

    /** Whether a sentence tells something: somebody did it, or it happened. */
    private fun isTold(sentence: List<Word>): Boolean {
        val plain = trimmed(sentence, "filler")
        return plain.isNotEmpty() && (plain[0].has("subject", "aside") || Vocabulary.indexOf(plain.drop(1).take(3), "aux", "verb") >= 0)
    }

    /** "Please show me those." */
    private fun onlyRefers(sentence: List<Word>): Boolean {
        val plain = trimmed(sentence, "filler")
        val opened = opening(plain)
        return opened > 0 && plain.drop(opened).all { it.isMark || it.has("aux", "courtesy", "filler", "picture", "them", "which") }
    }

    /** "Where was that?" */
    private fun onlyAsks(sentence: List<Word>): String {
        val plain = trimmed(sentence, "filler")
        if (plain.size < 2 || !plain.drop(1).all { it.has("aux", "them") }) return ""
        return if (plain[0].has("when")) "when" else if (plain[0].has("where")) "where" else ""
    }

    /** "Sam spilled wine on the carpet, show me the carpet before that": the story, and the request. */
    private fun toldBefore(sentence: List<Word>): Pair<List<Word>, List<Word>> {
        val pieces = split(sentence) { it.text == "," || it.text == ":" }
        for (n in pieces.size - 1 downTo 1) {
            val (before, piece) = pieces[n - 1] to pieces[n]
            if (piece.last().has("them") && before.size > STORY && opening(trimmed(piece, "filler")) > 0) return trimmed(before, "filler") to piece
        }
        return emptyList<Word>() to sentence
    }

    /** What a story is about: what comes after "but", "so" or "then", and of that the first clause. */
    private fun mainClause(sentence: List<Word>): List<Word> {
        val turn = (1 until sentence.size - 3).lastOrNull { sentence[it].key in TURNS }
        var rest = if (turn == null) sentence else sentence.drop(turn + 1)
        for (at in 3 until rest.size - 2) {
            val isLink = rest[at].key == "and" || rest[at].text == ","
            if (!isLink || !(rest[at + 1].has("definite", "subject") || rest[at + 1].key == "and" || rest[at + 1].key == "nobody")) continue
            rest = rest.take(at)
            break
        }
        val words = trimmed(rest, "filler", "link")
        return if (words.take(2).joinToString(" ") { it.key } in HAD) words.drop(2) else words // "we had that awful frost": the frost
    }

    // What is asked for

    private fun asked(words: List<Word>, story: List<Word>): Asking {
        val plain = withoutReasons(withoutClosing(trimmed(words, "filler")))
        val opened = opening(plain)
        val tells = Vocabulary.indexOf(plain.take(opened), "tells") >= 0 // "tell me how many …" is a question
        val body = trimmed(withoutClosing(plain.drop(opened)), "filler")
        val existing = existence(body)
        val isAsked = opened > 0 || existing > 0 || words.any { it.key == "please" }
        var rest = body.drop(existing)
        var wanted = wanted(rest, isAsked && !tells)
        if (existing > 0 && wanted.asks == "photos" && body[0].key in setOf("did", "was", "were")) wanted = Beginning("fact", 0, true) // "was there a cat …"
        val begins = rest.isNotEmpty() && (rest[0].has(*QUESTIONS) || rest[0].has("aux"))
        val late = if (begins) null else lateQuestion(rest)
        if (late != null) {
            wanted = late.first
            rest = late.second
        }
        return Asking(
            rest.drop(wanted.start), wanted.asks, story,
            isQuestion = begins || late != null || wanted.asks != "photos", isClosed = wanted.isClosed,
            was = wanted.isClosed && rest.isNotEmpty() && (rest[0].key == "was" || rest[0].key == "were"),
            isAsked = isAsked, did = did(rest), everything = isEverything(rest), isOfAPhoto = Vocabulary.indexOf(rest.take(3), "picture") >= 0,
        )
    }

    /** The words without a reason before the request: "I'm doing my taxes, so …". */
    private fun withoutReasons(words: List<Word>): List<Word> {
        for (at in 2 until words.size - 1) {
            if (words[at].text != "," && words[at].key != "so") continue
            val rest = trimmed(words.drop(at), "filler")
            val asks = rest.isNotEmpty() && (rest[0].has(*QUESTIONS) || rest[0].has("request", "modal") || opening(rest) > 0)
            if ((asks || words[at].key == "so") && words[0].has("aside") && phrases.saidLength(words) == 0) return rest
        }
        return words
    }

    /** The number of words at the beginning that only ask: "could you kindly show me". */
    private fun opening(words: List<Word>): Int {
        if (words.isEmpty() || words[0].key in WHOM) return 0 // "me looking for …"
        var end = 0
        var asks = false
        for ((at, word) in words.withIndex()) {
            if (word.text == "," && at == end) {
                end++
                continue
            }
            if (at > 0 && word.key == "you" && words[at - 1].has("modal")) verbAfter(words, at).let { if (it > 0) return it }
            if (!word.has("courtesy", "filler", "modal", "request", "self") && word.key != "be" && word.key != "have") break
            if (asksHere(words, at)) asks = true
            else if (word.key == "have" || asks && (word.has("modal") || word.key == "i" || word.key == "we")) break
            end = at + 1
        }
        return if (asks) end else 0
    }

    /**
     * The number of words of "could you VERB me", whatever the verb; 0 where a verb of the vocabulary asks. "Could you count …" keeps
     * its verb, which says what is asked for.
     */
    private fun verbAfter(words: List<Word>, you: Int): Int {
        val verb = (you + 1 until words.size).firstOrNull { !words[it].has("courtesy", "filler") } ?: return 0
        if (words[verb].key == "have" || words[verb].has("request", "seen")) return 0
        if (words[verb].key == "count") return verb
        return if (words.getOrNull(verb + 1)?.key in WHOM) verb + 2 else verb + 1
    }

    private fun asksHere(words: List<Word>, at: Int): Boolean {
        val word = words[at]
        val before = words.take(at)
        if (word.key == "have" && before.lastOrNull()?.key.let { it != "i" && it !in WHOM }) return false
        if (!word.has("request") && word.key != "have") return false
        val isModal = before.any { it.has("modal") }
        if (word.key == "get" && before.isNotEmpty() && !isModal && (before.last().key == "i" || before.last().key == "we")) return false // "I get emotional"
        return word.key !in WISHED || at == 0 || before.any { it.has("modal") || it.key in WISHING }
    }

    /** The words without what only asks at their end, or is said aside: ", if it is no trouble". */
    private fun withoutClosing(words: List<Word>): List<Word> {
        var left = words
        while (left.isNotEmpty()) {
            val mark = left.indexOfLast { it.isMark }
            left = if (mark >= 0 && isAside(left.drop(mark + 1))) left.take(mark) else if (left.last().key in AT_THE_END) left.dropLast(1) else break
        }
        return left
    }

    private fun isAside(piece: List<Word>): Boolean {
        if (piece.size > 1 && piece[0].key == "if" && piece[1].key in CONDITIONS) return true
        val opened = opening(piece)
        val isTold = piece.size > 1 && piece[0].has("aside") && phrases.saidLength(piece) == 0 && Vocabulary.indexOf(piece, "after", "before", "unit") < 0
        if (isTold && (opened == 0 || Vocabulary.indexOf(piece.take(opened), "tells") >= 0)) return true // "…, I must send them to the bookkeeper"
        if (opened > 0 && piece.drop(opened).all { it.has(*onlyAsking) }) return true // "…, can you dig that up"
        return piece.all { it.has(*onlyAsking) }
    }

    /** The number of words of "do you have", "are there", "have I got". */
    private fun existence(words: List<Word>): Int {
        val keys = words.take(4).map { it.key }
        if (keys.getOrNull(2) == "still") return if (keys.getOrNull(3) == "got" || keys.getOrNull(3) == "have") 4 else 0
        if (keys.firstOrNull() == "there's") return 1
        if (keys.size < 2 || !words[0].has("aux", "modal") || keys[1] !in EXISTING) return 0
        if (keys.getOrNull(2) in setOf("be", "got", "have")) return 3
        return if (keys[1] == "there") 2 else 0
    }

    /**
     * "After the concert, who was given the flowers": a question after its circumstances. Its words come after a comma, as the
     * circumstances' tail.
     */
    private fun lateQuestion(words: List<Word>): Pair<Beginning, List<Word>>? {
        val first = words.firstOrNull() ?: return null
        val isCircumstance = first.key != "a" && first.key != "an" && (first.has("after", "before", "definite", "preposition", "unit") || first.number > 0)
        if (isCircumstance) for (at in 3 until words.size - 2) {
            if (!words[at].has("how", "howmany", "which", "who") || !beginsQuestion(words.drop(at))) continue
            if (words[at - 1].has("preposition") || words[at - 1].isMark) continue
            val wanted = wanted(words.drop(at), false)
            return wanted.copy(start = 0) to words.take(at) + words[at].copy(text = ",", key = ",", values = emptyMap()) + words.drop(at + wanted.start)
        }
        for (mark in words.size - 2 downTo 1) {
            val piece = words.drop(mark + 1)
            if (!words[mark].isMark || !(beginsQuestion(piece) || beginsClosed(piece) || piece[0].has("howmany"))) continue
            val wanted = wanted(piece, false)
            val tail = piece.drop(wanted.start)
            val isEmpty = tail.all { it.has("aux", "self", "subject", "them") } // "…, who is he"
            return wanted.copy(start = 0) to if (isEmpty) words.take(mark) else words.take(mark + 1) + tail
        }
        return null
    }

    private fun beginsQuestion(words: List<Word>): Boolean {
        val plain = trimmed(words, "filler")
        if (plain.size < 3 || !plain[0].has(*QUESTIONS)) return false
        return plain[1].has("aux", "picture", "unit") || plain[0].has("which", "who")
    }

    /** "…, did the sweep come first", "…, was there a waterfall". */
    private fun beginsClosed(words: List<Word>): Boolean =
        words.size > 3 && words[0].key in CLOSED && (words[1].has("definite", "subject") || words[1].key == "there")

    /** What the beginning of a question asks for. [isShown]: "show me what I took" asks no question. */
    private fun wanted(words: List<Word>, isShown: Boolean): Beginning {
        if (words.isEmpty()) return Beginning()
        val begin = if (words[0].has("preposition") && words.size > 1) 1 else 0
        val first = words[begin]
        val follows = words.getOrNull(begin + 1)
        if (words[0].has("howmany") || words[0].key == "count" || words[0].key == "how much") return counted(words)
        if (follows != null && first.has("which") && follows.has("moment", "place")) return Beginning(if (follows.has("moment")) "when" else "where", begin + 2)
        // "When I was eating in Berlin" asks nothing; "where'd we eat" does.
        val tells = follows != null && (follows.has("subject") || follows.key == "my" || follows.key == "our" || follows.key.endsWith("ing"))
        val isInverted = follows != null && (first.text.lowercase() != first.key || !tells)
        if (isInverted && first.has("when", "where") && begin == 0) return Beginning(if (first.has("when")) "when" else "where", 1)
        if (first.has("who")) return Beginning("who", begin + 1)
        if (isShown) return Beginning()
        if (words[0].has("how", "which")) return ofWhich(words)
        return if (words[0].has("aux") && words.size > 2) Beginning("fact", 1, true) else Beginning()
    }

    /** Photos are counted; "how many weeks" and "how much was" ask for a fact. */
    private fun counted(words: List<Word>): Beginning {
        val follows = words.getOrNull(1)
        val isOfPhotos = follows?.has("picture") == true
        if (words[0].key == "how much" && !isOfPhotos) return Beginning("fact", subjectAt(words))
        if (follows?.has("duration") == true && words[0].has("howmany")) return Beginning("fact", subjectAt(words))
        return Beginning("count", 1)
    }

    /** "What", "which", "how": photos where photos or what was photographed are meant, else a fact. */
    private fun ofWhich(words: List<Word>): Beginning {
        val keys = words.map { it.key }
        val number = Vocabulary.indexOf(words.take(4), "howmany")
        if (number > 0) return Beginning("count", number + 1) // "what's the number of …"
        val isContracted = words[0].text.lowercase() != words[0].key
        val states = keys.size > 1 && words[1].has("article", "subject") && !isContracted
        if (!states && keys.any { it in LOOKS }) return Beginning("photos", 1) // "how did it look", "what did the shed look like"
        if ("or" in keys && ("first" in keys || "earlier" in keys)) return Beginning("fact", 1)
        if (keys[0] == "how") return if (states) Beginning() else Beginning("fact", subjectAt(words)) // "how the kitchen looked"
        val noun = words.drop(1).firstOrNull { !it.has("article", "aux", "exactly", "number", "order") }
        val isOfPhotos = Vocabulary.indexOf(words.drop(1).take(3), "picture") >= 0 || noun != null && noun.has("one", "picture")
        if (states || words[0].has("which") && isOfPhotos) return Beginning()
        val isDone = keys.size > 3 && words[1].has("aux") && (keys[2] == "i" || keys[2] == "we") && words[3].has("generic")
        val isShot = did(words) && (Vocabulary.indexOf(words, "made") >= 0 || keys.any { it in SHOT })
        val came = keys.getOrNull(1) == "else" || keys.drop(1).take(3).any { it == "came" || it == "comes" }
        return if (isDone || isShot || came && "or" !in keys) Beginning() else Beginning("fact", subjectAt(words))
    }

    /** Where the subject of "what colour were the roses" begins. */
    private fun subjectAt(words: List<Word>): Int = (Vocabulary.indexOf(words.take(6), "aux") + 1).let { if (it > 0) it else 1 }

    /** Whether the words say what the photographer did: "did I", "I saw". */
    private fun did(words: List<Word>): Boolean = words.indices.any { at ->
        (words[at].key == "i" || words[at].key == "we") && (at > 0 && words[at - 1].has("aux") || words.getOrNull(at + 1)?.has("seen") == true)
    }

    /** "What else did I photograph", "how many", "which dogs did I see". */
    private fun isEverything(words: List<Word>): Boolean {
        if (words.isEmpty() || !words[0].has("howmany", "which")) return false
        if (words[0].has("howmany") || words[0].key == "what" && did(words)) return true
        return words.size > 2 && words[0].key == "which" && words[1].key.endsWith("s") && words[2].has("aux")
    }

    private companion object {
        const val STORY = 4 // words that a sentence before the request has at least if it is its story
        const val ENDS = ".?!;—–…"
        val QUESTIONS = arrayOf("how", "howmany", "when", "where", "which", "who")
        // Verbs that ask for photos only after "may I", "I would": "I see the lake" may be a memory.
        val WISHED = setOf("grateful", "happy", "have", "like", "look", "love", "need", "see", "want")
        val WISHING = setOf("i", "let", "please", "to", "we", "you")
        val WHOM = setOf("me", "us")
        val AT_THE_END = setOf("again", "lol", "nah", "omg", "or", "please", "thank you", "thanks")
        val CONDITIONS = setOf("it", "possible", "that", "you")
        val CLOSED = setOf("did", "has", "have", "is", "was", "were")
        val EXISTING = setOf("i", "there", "we", "you")
        val TURNS = setOf("but", "so", "then")
        val HAD = setOf("we had", "i had", "there was", "there is", "there were")
        val LOOKS = setOf("look", "looked", "looks")
        val SHOT = setOf("do", "else", "see", "seen", "up")
    }
}
