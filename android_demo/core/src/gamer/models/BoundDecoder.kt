package gamer.models

import gamer.bundle.Language
import gamer.bundle.Npy
import gamer.common.RuntimeFailure

/**
 * Runs the ONNX decoder. The past and present caches of each layer are the same memory, so that no token
 * copies the cache. The binding of the one-token step is created once.
 */
class BoundDecoder(private val session: Session, private val language: Language) : AutoCloseable {
    init {
        if (session.artifact.inputs.any { it.name == "past_key.0" && it.dtype != "float32" }) {
            throw RuntimeFailure("${session.artifact.role}: its cache is not float32, which the app reads: export the bundle with --kv-cache fp32")
        }
    }

    private val slots = language.maxSeq
    private val cache: Map<String, Tensor> = (0 until language.layers).flatMap { listOf("key.$it", "value.$it") }
        .associateWith { Tensor.of(Tensor.Type.FLOAT32, 1, language.kvHeads.toLong(), slots.toLong(), language.headDim.toLong()) }
    private val vocabulary: Int = session.artifact.outputs.first { it.name == "logits" }.shape.last() as Int
    private val lengths = Tensor.of(Tensor.Type.INT32, 1)
    private val total = Tensor.of(Tensor.Type.INT32, 1)
    private val last = Tensor.of(Tensor.Type.INT64, 1)
    private val logits = Tensor.of(Tensor.Type.FLOAT32, 1, 1, vocabulary.toLong())
    private val stepEmbed = Tensor.of(Tensor.Type.FLOAT32, 1, 1, language.hidden.toLong())
    private val stepHidden = Tensor.of(Tensor.Type.FLOAT32, 1, 1, language.hidden.toLong())
    private val step: Binding = bound(stepEmbed, stepHidden)

    /** The hidden states of the tokens of the last [forward], [1, S, H]; valid until the next one. */
    var hidden: Tensor = stepHidden
        private set

    /** The number of tokens in the cache. */
    var past = 0
        private set

    private fun bound(embeds: Tensor, hidden: Tensor): Binding = session.bind(
        mapOf("embeds" to embeds, "seqlens_k" to lengths, "total_seq_len" to total, "last" to last) + cache.mapKeys { "past_${it.key}" },
        mapOf("logits" to logits, "hidden" to hidden) + cache.mapKeys { "present_${it.key}" },
    )

    /** Empties the cache. The slots need not be cleared: those beyond [past] are never read. */
    fun reset() {
        past = 0
    }

    /**
     * Replaces the cache by a stored one, [layers, 2, KV, P, Dh]. Raises [RuntimeFailure] if its shape does
     * not fit.
     */
    fun restore(kept: Npy) {
        val (layers, two, heads, tokens, size) = kept.shape.toList()
        if (layers != language.layers || two != 2 || heads != language.kvHeads || size != language.headDim || tokens > slots) {
            throw RuntimeFailure("a prefix cache of shape ${kept.shape.toList()} does not fit the decoder: export the bundle again")
        }
        val from = kept.bytes.duplicate().order(java.nio.ByteOrder.LITTLE_ENDIAN).asFloatBuffer()
        val block = FloatArray(tokens * size)
        for (tensor in cache.values) {
            for (head in 0 until heads) {
                from.get(block)
                tensor.floats.let { it.position(head * slots * size).let { _ -> it.put(block) } }
            }
        }
        past = tokens
    }

    /**
     * Embeddings [S][H], row by row, for the positions from past on → logits of the last token [V]; [past]
     * grows by S. Raises [RuntimeFailure] if the cache has no room for them.
     */
    fun forward(embeds: FloatArray): FloatArray {
        val count = embeds.size / language.hidden
        if (past + count > slots) throw RuntimeFailure("${past + count} tokens do not fit the decoder's $slots cache slots: shorten the prompt")
        lengths.ints.put(0, past + count - 1)
        total.ints.put(0, past + count)
        last.longs.put(0, count - 1L)
        if (count == 1) {
            stepEmbed.floats.put(embeds)
            step.run()
            hidden = stepHidden
        } else {
            hidden = Tensor.of(Tensor.Type.FLOAT32, 1, count.toLong(), language.hidden.toLong())
            bound(Tensor.floats(embeds, 1, count.toLong(), language.hidden.toLong()), hidden).use { it.run() }
        }
        past += count
        return logits.toFloats()
    }

    override fun close() = step.close()
}
