package gamer

import gamer.album.Album
import gamer.album.AlbumMeta
import gamer.album.AlbumWriter
import gamer.album.Encoded
import gamer.album.Photo
import gamer.bundle.Artifact
import gamer.bundle.Bundle
import gamer.bundle.Channel
import gamer.bundle.Manifest
import gamer.bundle.ManifestJson
import gamer.common.BundleError
import gamer.image.Pixels
import gamer.indexing.Look
import gamer.indexing.PhotoEncoder
import gamer.jvm.JdbcDatabase
import gamer.models.Backend
import gamer.models.Binding
import gamer.models.ImageCode
import gamer.models.Models
import gamer.models.Processor
import gamer.models.Session
import gamer.models.Tensor
import gamer.models.Units
import gamer.models.askedChannels
import gamer.models.photoVector
import gamer.models.queryVector
import gamer.search.Channels
import gamer.search.QueryVectors
import java.io.File
import java.nio.file.Files
import kotlin.test.AfterTest
import kotlin.test.Test
import kotlin.test.assertContentEquals
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertNull
import kotlin.test.assertTrue
import org.json.JSONArray
import org.json.JSONObject

/** The channels of trained experts: read, checked, searched and indexed. */
class ChannelsTest {
    private val home = Files.createTempDirectory("channels").toFile()

    @AfterTest
    fun clean() {
        home.deleteRecursively()
    }

    @Test
    fun `a manifest without channels reads as before`() {
        val plain = manifest()
        assertEquals(emptyList(), plain.channels)
        assertNull(plain.ranking)
    }

    @Test
    fun `channels and their weight are read`() {
        val read = manifest(channel(), JSONObject().put("dpe", 4.5))
        assertEquals(listOf(Channel(NAME, "text", 2)), read.channels)
        assertEquals(4.5, read.ranking!!.weight("dpe"))
        assertEquals(12.0, manifest(channel(), JSONObject()).ranking!!.weight("dpe"))
    }

    @Test
    fun `a channel out of bounds is refused`() {
        val names = listOf("dpe:Text:96d09e25", "dpe::96d09e25", "dpe:text:96d09e2", "dpe:text:96D09E25", "dpe:text:96d09e25\n", "image", "dpe:aaaaaaaaaaaaaaaaa:96d09e25")
        for (bad in names.map { channel(it) } + channel(query = "image") + listOf(0, 65_537).map { channel(dim = it) } + channel().put("more", 1)) {
            val said = assertFailsWith<BundleError>(bad.toString()) { manifest(bad) }
            assertTrue("channels" in said.message!!, said.message)
        }
        assertEquals("x: field channels.0.dim: 0 outside 1..65536: export the bundle again", assertFailsWith<BundleError> { manifest(channel(dim = 0)) }.message)
    }

    @Test
    fun `a photo's vector is the mean of the routed experts' prompts`() {
        val backend = Answers(ANSWERS)
        val models = models(backend)
        // Experts 0 and 1 reach ρ, with 2/3 and 1/3: rows (2, 0) and (4, 6), whose mean is (3, 3).
        val vector = models.photoVector(ImageCode(floatArrayOf(1f), Tensor.floats(FloatArray(4), 1, 2, 2), emptyList()))
        assertEquals(listOf(0.7071f, 0.7071f), vector.map { Math.round(it * 1e4f) / 1e4f })
        assertEquals(listOf("dpe_router", "dpe_expert_0", "dpe_expert_1"), backend.ran)
        assertFailsWith<BundleError> { models.photoVector(ImageCode(floatArrayOf(1f), null, emptyList())) }
    }

    @Test
    fun `an indexed photo has its vector`() {
        val encoded = PhotoEncoder(models(Answers(ANSWERS))).encode(Photo("p"), Look(Pixels(1, 1, ByteArray(3))))!!
        assertEquals(listOf("image", NAME), encoded.vectors.keys.toList())
        assertEquals(1, encoded.vectors.getValue(NAME).size)
    }

    @Test
    fun `a query's vector is the head's or else the text tower's`() {
        val head = Answers(ANSWERS)
        assertContentEquals(floatArrayOf(0f, 1f), models(head).queryVector(floatArrayOf(3f, 4f)))
        assertEquals(listOf("dpe_query"), head.ran)
        assertContentEquals(floatArrayOf(0.6f, 0.8f), models(Answers(ANSWERS - "dpe_query")).queryVector(floatArrayOf(3f, 4f)))
        assertEquals(emptyList(), models(Answers(ANSWERS), channel(query = "llm")).askedChannels)
    }

    @Test
    fun `the query head is checked with its states`() {
        val models = models(Answers(ANSWERS), kernels = "elsewhere")
        models.session("dpe_query")
        assertEquals("measured", models.verdicts.getValue("dpe_query").source)
        assertEquals(1.0, models.verdicts.getValue("dpe_query").cosine)
    }

    @Test
    fun `an album's channels are searched only where the query has them`() {
        val path = File(home, "a.gamer")
        AlbumWriter.create(path, AlbumMeta("t", "i", 3, 0.5), JdbcDatabase).use { writer ->
            val text = arrayOf(floatArrayOf(1f, 0f, 0f))
            writer.add(listOf(Encoded(Photo("a"), mapOf("text" to text, NAME to arrayOf(floatArrayOf(0f, 1f))), emptyList()), Encoded(Photo("b"), mapOf("text" to text), emptyList())))
        }
        val text = floatArrayOf(1f, 0f, 0f)
        val rows = intArrayOf(0, 1)
        Album.open(path, JdbcDatabase).use { album ->
            val plain = QueryVectors(text, text, emptyMap()).by(text)
            assertEquals(setOf("text"), Channels.cosines(album, plain, rows).keys)
            val all = QueryVectors(text, text, mapOf(NAME to floatArrayOf(0f, 1f), "dpe:text:00000000" to text)).by(text)
            assertEquals(listOf("text", NAME), Channels.searched(album, all))
            val found = Channels.cosines(album, all, rows).getValue("dpe")
            assertEquals(1f, found[0], 0.01f)
            assertEquals(0f, found[1])
            assertEquals("a", album.photo(0).id)
        }
    }

    @Test
    fun `titles are ranked by, and no channel of the paper's mode`() {
        val path = File(home, "a.gamer")
        AlbumWriter.create(path, AlbumMeta("t", "i", 3, 0.5), JdbcDatabase).use { writer ->
            writer.add(listOf(Encoded(Photo("a"), mapOf("title" to arrayOf(floatArrayOf(1f, 0f, 0f))), emptyList()), Encoded(Photo("b"), emptyMap(), emptyList())))
        }
        val query = QueryVectors(floatArrayOf(0f, 1f, 0f), floatArrayOf(1f, 0f, 0f), emptyMap())
        Album.open(path, JdbcDatabase).use { album ->
            val found = Channels.cosines(album, query.ranking(), intArrayOf(0, 1)).getValue("title")
            assertEquals(1f, found[0], 0.01f)
            assertEquals(0f, found[1])
            assertEquals(emptyList(), Channels.searched(album, query.by(query.plain)))
        }
        assertEquals(2.5, manifest(ranking = JSONObject().put("title", 2.5)).ranking!!.weight("title"))
        assertEquals(2.0, manifest(ranking = JSONObject()).ranking!!.weight("title"))
    }

    private fun channel(name: String = NAME, query: String = "text", dim: Int = 2) = JSONObject().put("name", name).put("query", query).put("dim", dim)

    private fun manifest(channel: JSONObject? = null, ranking: JSONObject? = null): Manifest = ManifestJson.parse(json(channel, ranking).toString(), "x")

    private fun json(channel: JSONObject?, ranking: JSONObject? = null): JSONObject = JSONObject().put("schema_version", 2).put("recipe", "r").put("quant", "int8")
        .put("text_encoder", "t").put("image_encoder", "i").put("dim", 3).put("components", JSONArray()).put("artifacts", JSONArray())
        .put("preprocessing", JSONObject.NULL).put("language", JSONObject.NULL).put("prompts", JSONObject())
        .put("thresholds", JSONObject().put("delta", 0.5).put("rho", 0.7).put("k", 5).put("delta_from", "")).put("files", JSONArray())
        .put("licences", JSONObject()).put("tools", JSONObject())
        .also { if (channel != null) it.put("channels", JSONArray().put(channel)) }.also { if (ranking != null) it.put("ranking", ranking) }

    /** A bundle with an artifact for each role of [backend], proven on [kernels], and golden arrays of the query head. */
    private fun models(backend: Answers, channel: JSONObject = channel(), kernels: String = HERE): Models {
        File(home, "fixtures").mkdirs()
        File(home, "weights.onnx").writeText("weights")
        npy("dpe_query.states", floatArrayOf(3f, 4f, 5f, 6f))
        npy("dpe_query.want", floatArrayOf(0f, 2f, 0f, 2f))
        fun told(path: String) = Bundle.digest(File(home, path)).let { (size, sha) -> JSONObject().put("path", path).put("bytes", size).put("sha256", sha) }
        fun tensor(name: String, dtype: String) = JSONArray().put(JSONObject().put("name", name).put("dtype", dtype).put("shape", JSONArray(listOf("n"))))
        val parity = JSONObject().put("status", "passed").put("metric", "cosine").put("threshold", 0.999).put("minimum", 1.0).put("kernels", kernels)
        val roles = backend.answers.keys + "text_tower"
        val artifacts = roles.map { role ->
            val (input, dtype) = if (role == "dpe_query") "state" to "float32" else if (role == "image_tower") "photo" to "uint8" else "patches" to "float32"
            told("weights.onnx").put("role", role).put("target", "onnx").put("quant", "int8").put("inputs", tensor(input, dtype))
                .put("outputs", tensor(backend.answers[role]?.keys?.first() ?: "embedding", "float32")).put("parity", parity).put("export_seconds", 1.0)
        }
        val components = roles.map {
            JSONObject().put("role", it).put("architecture", "a").put("source", "s").put("trained", true).put("parameters", 1).put("macs", 1).put("macs_per", "x")
        }
        val files = listOf("states", "want").map { "fixtures/dpe_query.$it.npy" }.map { told(it).put("name", it) }
        val whole = json(channel).put("artifacts", JSONArray(artifacts)).put("components", JSONArray(components)).put("files", JSONArray(files))
        File(home, "manifest.json").writeText(whole.toString())
        return Models.open(home, backend, JdbcDatabase)
    }

    private fun npy(name: String, values: FloatArray) {
        val header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n"
        val out = java.nio.ByteBuffer.allocate(10 + header.length + 4 * values.size).order(java.nio.ByteOrder.LITTLE_ENDIAN)
        out.put("\u0093NUMPY\u0001\u0000".toByteArray(Charsets.ISO_8859_1)).putShort(header.length.toShort()).put(header.toByteArray())
        values.forEach { out.putFloat(it) }
        File(home, "fixtures/$name.npy").writeBytes(out.array())
    }

    /** A backend that gives the same [answers] to any input, by role and output, and records which roles ran. */
    private class Answers(val answers: Map<String, Map<String, Tensor>>) : Backend {
        override val target = "onnx"
        override val version = VERSION
        val ran = ArrayList<String>()

        override fun open(path: File, artifact: Artifact, threads: Int, units: Units): Session = object : Session {
            override val artifact = artifact

            override fun run(inputs: Map<String, Tensor>): Map<String, Tensor> {
                inputs["state"]?.let { assertContentEquals(longArrayOf(1, 2), it.shape) }
                ran.add(artifact.role)
                return answers.getValue(artifact.role)
            }

            override fun bind(inputs: Map<String, Tensor>, outputs: Map<String, Tensor>): Binding = throw UnsupportedOperationException()

            override fun close() = Unit
        }
    }

    private companion object {
        const val NAME = "dpe:text:96d09e25"
        const val VERSION = "9.9"
        val HERE = Processor.here.kernels("onnxruntime $VERSION")

        fun prompts(vararg values: Float) = mapOf("prompts" to Tensor.floats(values, 1, 2, 2))

        val ANSWERS = mapOf(
            "image_tower" to mapOf("embedding" to Tensor.floats(floatArrayOf(1f, 0f, 0f), 1, 3), "patches" to Tensor.floats(FloatArray(4), 1, 2, 2)),
            "dpe_router" to mapOf("weights" to Tensor.floats(floatArrayOf(0.6f, 0.3f, 0.1f), 1, 3)),
            "dpe_expert_0" to prompts(3f, 0f, 3f, 9f),
            "dpe_expert_1" to prompts(0f, 0f, 6f, 0f),
            "dpe_expert_2" to prompts(9f, 9f, 9f, 9f),
            "dpe_query" to mapOf("vector" to Tensor.floats(floatArrayOf(0f, 2f), 1, 2)),
        )
    }
}
