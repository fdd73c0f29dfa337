package gamer.tokens

import gamer.common.Patterns
import java.util.regex.Pattern
import org.json.JSONArray
import org.json.JSONObject

/**
 * Reads the parts of a tokenizer.json. An unknown type raises [UnknownPart], because ignoring it would
 * silently give other ids.
 */
internal class TokenizerJson(private val raw: JSONObject) {
    fun tokenizer(): Tokenizer {
        val model = model(raw.getJSONObject("model"))
        val truncation = raw.optJSONObject("truncation")
        if (truncation != null && truncation.optString("direction", "Right") != "Right") throw UnknownPart("truncation from the left")
        val decoder = raw.optJSONObject("decoder")
        return Tokenizer(
            model,
            AddedTokens(objects(raw.optJSONArray("added_tokens"))),
            normalizer(raw.optJSONObject("normalizer")),
            splitter(raw.optJSONObject("pre_tokenizer")),
            template(raw.optJSONObject("post_processor")),
            decoder(decoder),
            truncation?.getInt("max_length"),
        )
    }

    private fun model(model: JSONObject): Model =
        when (val type = model.optString("type", "BPE")) {
            "WordPiece" -> WordPiece(
                vocabulary(model), model.getString("unk_token"), model.optString("continuing_subword_prefix", "##"),
                model.optInt("max_input_chars_per_word", 100),
            )
            "BPE" -> bpe(model, vocabulary(model))
            "Unigram" -> Unigram.read(model)
            else -> throw UnknownPart("model $type")
        }

    private fun vocabulary(model: JSONObject): HashMap<String, Int> {
        val vocab = HashMap<String, Int>()
        val words = model.getJSONObject("vocab")
        for (word in words.keys().asSequence().map { it.toString() }) vocab[word] = words.getInt(word)
        return vocab
    }

    private fun bpe(model: JSONObject, vocab: Map<String, Int>): Bpe {
        for (name in listOf("byte_fallback", "fuse_unk")) if (model.optBoolean(name)) throw UnknownPart("BPE with $name")
        if (!model.isNull("dropout")) throw UnknownPart("BPE with dropout")
        val raw = model.getJSONArray("merges")
        val merges = ArrayList<Pair<String, String>>(raw.length())
        for (n in 0 until raw.length()) {
            val merge = raw.get(n)
            merges.add(if (merge is JSONArray) merge.getString(0) to merge.getString(1) else merge.toString().let { it.substringBefore(' ') to it.substringAfter(' ') })
        }
        return Bpe(
            vocab, merges, text(model, "unk_token"), text(model, "continuing_subword_prefix") ?: "", text(model, "end_of_word_suffix") ?: "",
            model.optBoolean("ignore_merges"),
        )
    }

    private fun normalizer(part: JSONObject?): Normalizer = when (part?.getString("type")) {
        null -> Normalizer { it }
        "Sequence" -> objects(part.getJSONArray("normalizers")).map { normalizer(it) }.let { all -> Normalizer { text -> all.fold(text) { t, n -> n.apply(t) } } }
        "BertNormalizer" -> BertNormalizer(
            part.optBoolean("clean_text", true), part.optBoolean("handle_chinese_chars", true),
            if (part.isNull("strip_accents")) null else part.getBoolean("strip_accents"), part.optBoolean("lowercase", true),
        )
        "NFC", "NFD", "NFKC", "NFKD" -> java.text.Normalizer.Form.valueOf(part.getString("type")).let { form -> Normalizer { java.text.Normalizer.normalize(it, form) } }
        "Lowercase" -> Normalizer { gamer.common.PyText.lower(it) }
        "StripAccents" -> Normalizer { stripMarks(it) }
        "Replace" -> pattern(part.getJSONObject("pattern")).let { p -> part.getString("content").let { to -> Normalizer { p.matcher(it).replaceAll(java.util.regex.Matcher.quoteReplacement(to)) } } }
        "Precompiled" -> Precompiled.read(part.getString("precompiled_charsmap"))
        "Nmt" -> Normalizer { nmt(it) }
        "Prepend" -> part.getString("prepend").let { head -> Normalizer { if (it.isEmpty()) it else head + it } }
        else -> throw UnknownPart("normalizer ${part.getString("type")}")
    }

    private fun splitter(part: JSONObject?): Splitter = when (part?.getString("type")) {
        null -> Splitter { if (it.isEmpty()) emptyList() else listOf(it) }
        "Sequence" -> objects(part.getJSONArray("pretokenizers")).map { splitter(it) }.let { all ->
            Splitter { text -> all.fold(listOf(text)) { pieces, s -> pieces.flatMap { s.split(it) } } }
        }
        "BertPreTokenizer" -> Splitter { bertSplit(it) }
        "Metaspace" -> Metaspace(part.optString("replacement", "▁"), prepends(part), part.optBoolean("split", true))
        "Whitespace" -> matches(Patterns.of("\\w+|[^\\w\\s]+"))
        "WhitespaceSplit" -> Splitter { whiteSplit(it) }
        "ByteLevel" -> ByteLevel(part.optBoolean("add_prefix_space", true), part.optBoolean("use_regex", true))
        "Digits" -> cut(Pattern.compile(if (part.optBoolean("individual_digits")) "[\\p{Nd}\\p{Nl}\\p{No}]" else "[\\p{Nd}\\p{Nl}\\p{No}]+"), "Isolated", false)
        "Split" -> cut(pattern(part.getJSONObject("pattern")), part.getString("behavior"), part.optBoolean("invert"))
        else -> throw UnknownPart("pre-tokenizer ${part.getString("type")}")
    }

    /** Whether Metaspace puts its mark before each text; "first" would do so before the first only. */
    private fun prepends(part: JSONObject): Boolean =
        when (val scheme = part.optString("prepend_scheme", if (part.optBoolean("add_prefix_space", true)) "always" else "never")) {
            "always" -> true
            "never" -> false
            else -> throw UnknownPart("Metaspace with prepend_scheme $scheme")
        }

    private fun matches(pattern: Pattern) = cut(pattern, "Removed", true)

    private fun cut(pattern: Pattern, behaviour: String, invert: Boolean): Splitter {
        if (behaviour !in setOf("Isolated", "Removed")) throw UnknownPart("split behaviour $behaviour")
        return Splitter { cutAt(it, pattern, keepBetween = behaviour == "Isolated" || !invert, keepMatches = behaviour == "Isolated" || invert) }
    }

    private fun template(part: JSONObject?): Template = when (part?.getString("type")) {
        null, "ByteLevel" -> Template.NONE
        "Sequence" -> objects(part.getJSONArray("processors")).map { template(it) }.firstOrNull { it.size > 0 } ?: Template.NONE
        "RobertaProcessing", "BertProcessing" ->
            Template(intArrayOf(part.getJSONArray("cls").getInt(1)), intArrayOf(part.getJSONArray("sep").getInt(1)))
        "TemplateProcessing" -> templateProcessing(part)
        else -> throw UnknownPart("post-processor ${part.getString("type")}")
    }

    private fun templateProcessing(part: JSONObject): Template {
        val special = part.optJSONObject("special_tokens") ?: JSONObject()
        val before = IntList()
        val after = IntList()
        var into = before
        for (step in objects(part.getJSONArray("single"))) {
            if (step.has("Sequence")) {
                into = after
                continue
            }
            val ids = special.getJSONObject(step.getJSONObject("SpecialToken").getString("id")).getJSONArray("ids")
            for (n in 0 until ids.length()) into.add(ids.getInt(n))
        }
        return Template(before.toArray(), after.toArray())
    }

    private fun decoder(part: JSONObject?): Decoder = when (part?.getString("type")) {
        "ByteLevel" -> Decoder { ByteAlphabet.text(it.joinToString("")) }
        "WordPiece" -> part.optString("prefix", "##").let { prefix -> Decoder { wordPieceText(it, prefix, part.optBoolean("cleanup", true)) } }
        "BPEDecoder" -> part.optString("suffix", "</w>").let { end -> Decoder { tokens -> tokens.withIndex().joinToString("") { (n, t) -> t.replace(end, if (n == tokens.size - 1) "" else " ") } } }
        "Metaspace" -> part.optString("replacement", "▁").let { mark -> Decoder { it.joinToString("").replace(mark, " ").removePrefix(" ") } }
        null -> Decoder { it.joinToString(" ") }
        else -> throw UnknownPart("decoder ${part.getString("type")}")
    }

    private fun pattern(part: JSONObject): Pattern =
        if (part.has("Regex")) Pattern.compile(RustRegex.java(part.getString("Regex")), Pattern.UNIX_LINES)
        else Pattern.compile(Pattern.quote(part.getString("String")))

    private fun text(of: JSONObject, name: String): String? = if (of.isNull(name)) null else of.getString(name)

    private fun objects(array: JSONArray?): List<JSONObject> = if (array == null) emptyList() else (0 until array.length()).map { array.getJSONObject(it) }
}
