package gamer

import gamer.bundle.Artifact
import gamer.bundle.Bundle
import gamer.bundle.ManifestJson
import gamer.bundle.Npy
import gamer.common.BundleError
import gamer.common.RuntimeFailure
import gamer.jvm.JdbcDatabase
import gamer.models.Backend
import gamer.models.Binding
import gamer.models.ByUnits
import gamer.models.Models
import gamer.models.OrtBackend
import gamer.models.Processor
import gamer.models.Session
import gamer.models.Tensor
import gamer.models.Units
import gamer.models.Verdict
import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.file.Files
import kotlin.test.AfterTest
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertTrue
import org.json.JSONArray
import org.json.JSONObject

class SelfCheckTest {
    private val home = Files.createTempDirectory("selfcheck").toFile()
    private val cache = File(home, "cache")
    private val notices = ArrayList<String>()

    @AfterTest
    fun clean() {
        home.deleteRecursively()
    }

    @Test
    fun `kernels that the manifest names are trusted without a run`() {
        val kernels = Kernels(WRONG)
        assertEquals(Verdict(ROUTER, Units.FUSED, 0.9995, 0.999, "export"), verdict(bundle(proven = HERE), kernels))
        assertEquals(0, kernels.runs)
    }

    @Test
    fun `other kernels run the fixtures once and remember`() {
        val folder = bundle()
        val kernels = Kernels(RIGHT)
        assertEquals(Verdict(ROUTER, Units.FUSED, 1.0, 0.999, "measured"), verdict(folder, kernels))
        assertEquals("remembered", verdict(folder, kernels).source)
        assertEquals(1, kernels.runs)
        assertEquals(listOf("json"), notes().map { it.extension })
        // Without a folder no result is stored.
        assertEquals("measured", verdict(folder, kernels, null).source)
        assertTrue(notices.isEmpty())
    }

    @Test
    fun `a damaged memory is measured again`() {
        val folder = bundle()
        val damages = listOf("", "{", "[]", "{\"a\":".repeat(100_000)) +
            listOf("5, \"cosine\": 1.0", "\"quantum\", \"cosine\": 1.0").map { "{\"units\": $it}" } +
            listOf("7", "NaN", "0.5", "\"one\"", "null").map { "{\"units\": \"fused\", \"cosine\": $it}" }
        val kernels = Kernels(RIGHT)
        verdict(folder, kernels)
        for (damage in damages) {
            notes().single().writeText(damage)
            assertEquals("measured", verdict(folder, kernels).source, damage.take(40))
            assertEquals("fused", JSONObject(notes().single().readText()).getString("units"))
        }
        assertEquals(1 + damages.size, kernels.runs)
    }

    @Test
    fun `a cache that cannot be written is none`() {
        cache.writeText("a file stands where the folder would")
        val folder = bundle()
        val kernels = Kernels(RIGHT)
        repeat(2) { assertEquals("measured", verdict(folder, kernels).source) }
        assertEquals(2, kernels.runs)
    }

    @Test
    fun `wrong fused kernels are left for exact ones with one line`() {
        val folder = bundle()
        val kernels = Kernels(WRONG, RIGHT)
        assertEquals(Verdict(ROUTER, Units.UNFUSED, 1.0, 0.999, "measured"), verdict(folder, kernels))
        assertEquals(listOf(Units.FUSED, Units.UNFUSED), kernels.opened)
        assertEquals(1, kernels.closed)
        val line = notices.single()
        assertTrue("dpe_router is wrong on this processor (worst cosine 0.7632 fused, 0.999 is wanted): running it unfused, slower" in line, line)
        models(folder, kernels).let { models ->
            assertTrue("; nothing computed yet; in memory, MB: nothing" in models.describe())
            models.session(ROUTER)
            assertEquals("remembered", models.verdicts.getValue(ROUTER).source)
            assertEquals("onnx, 2 threads, no affinity, CPU arena; int8, unfused; in memory, MB: dpe_router 0", models.describe())
        }
        assertEquals(Units.UNFUSED, kernels.opened.last())
        assertEquals(1, notices.size)
    }

    @Test
    fun `where both forms are wrong the figure is said`() {
        for ((bad, figure) in listOf(WRONG to "0.7632", NONE to "nan")) {
            val kernels = Kernels(bad)
            val error = assertFailsWith<RuntimeFailure> { verdict(bundle(), kernels) }
            assertTrue("worst cosine $figure fused, $figure unfused on onnxruntime 9.9, " in error.message!!, error.message)
            assertTrue("below 0.999: export" in error.message!! && '\n' !in error.message!!)
            assertFalse(cache.exists())
            assertEquals(2, kernels.closed)
        }
    }

    @Test
    fun `an accelerator is checked before it is used even where the processor is proven`() {
        val folder = bundle(proven = HERE)
        val kernels = Kernels(RIGHT)
        assertEquals(Verdict(ROUTER, Units.NNAPI, 1.0, 0.999, "measured"), verdict(folder, ByUnits(kernels, Units.NNAPI)))
        assertEquals("remembered", verdict(folder, ByUnits(kernels, Units.NNAPI)).source)
        assertEquals(listOf(Units.NNAPI, Units.NNAPI), kernels.opened)
        assertEquals("measured", verdict(folder, ByUnits(kernels, Units.XNNPACK)).source) // what one is found to be says nothing of another
        assertEquals("export", verdict(folder, kernels).source)
        assertTrue(notices.isEmpty())
        models(folder, ByUnits(kernels, Units.NNAPI)).let { models ->
            models.session(ROUTER)
            assertTrue("; int8, NNAPI; " in models.describe(), models.describe())
            models.session("llm_embed") // no accelerator runs the language model
            assertEquals(Units.FUSED, models.verdicts.getValue("llm_embed").units)
        }
    }

    @Test
    fun `an accelerator that is wrong or refuses is left for the processor`() {
        for ((accelerated, figure) in listOf(WRONG to "0.7632 nnapi", NONE to "nan nnapi", null to "none, refused by nnapi")) {
            val kernels = Kernels(RIGHT, accelerated = accelerated)
            val folder = bundle()
            assertEquals(Verdict(ROUTER, Units.FUSED, 1.0, 0.999, "measured"), verdict(folder, ByUnits(kernels, Units.NNAPI)))
            val line = notices.single()
            assertTrue("worst cosine $figure, 0.999 is wanted): running it fused" in line, line)
            assertEquals("remembered", verdict(folder, ByUnits(kernels, Units.NNAPI)).source)
            assertEquals(Units.FUSED, kernels.opened.last())
            notices.clear()
            cache.deleteRecursively()
        }
    }

    @Test
    fun `another engine is checked in the one form that it has`() {
        class Other(real: Backend) : Backend by real {
            override val engine = "executorch 9.9"
            override val forms = listOf(Units.FUSED)
        }
        val kernels = Kernels(WRONG, RIGHT)
        val error = assertFailsWith<RuntimeFailure> { verdict(bundle(proven = HERE), Other(kernels)) } // proven for ONNX Runtime
        assertTrue("worst cosine 0.7632 fused on executorch 9.9, " in error.message!!, error.message)
        assertEquals(listOf(Units.FUSED), kernels.opened)
        assertEquals("measured", verdict(bundle(proven = HERE), Other(Kernels(RIGHT))).source)
    }

    @Test
    fun `without fixtures no accelerator is used`() {
        val kernels = Kernels(RIGHT)
        assertEquals(Verdict(ROUTER, Units.FUSED, null, 0.999, "no fixtures"), verdict(bundle(version = 1), ByUnits(kernels, Units.XNNPACK)))
    }

    @Test
    fun `ONNX Runtime without an accelerator says so and computes all the same`() {
        // This library has no XNNPACK: the shim of setup.sh stands for NNAPI, and does nothing.
        val network = File(System.getProperty("gamer.test"), "extraction.json")
        val error = assertFailsWith<RuntimeFailure> { OrtBackend.open(network, artifact(), 1, Units.XNNPACK) }
        assertTrue("ONNX Runtime refuses it" in error.message!!, error.message)
    }

    @Test
    fun `a golden file that was changed fails its hash`() {
        val folder = bundle()
        val models = models(folder, Kernels(RIGHT))
        npy(File(folder, "fixtures/$ROUTER.want.npy"), "<f4", "1, 3", RIGHT.map { it * 2 })
        val error = assertFailsWith<BundleError> { models.session(ROUTER) }
        assertTrue("dpe_router.want.npy: " in error.message!! && "it changed since export" in error.message!!)
    }

    @Test
    fun `fixtures of another shape are named`() {
        val kernels = Kernels(floatArrayOf(1f, 2f))
        val error = assertFailsWith<BundleError> { verdict(bundle(), kernels) }
        assertTrue("dpe_router: its golden fixtures do not fit it" in error.message!!)
        assertEquals(1, kernels.closed)
    }

    @Test
    fun `a bundle of version 1 is used with a notice`() {
        val kernels = Kernels(WRONG)
        assertEquals(Verdict(ROUTER, Units.FUSED, null, 0.999, "no fixtures"), verdict(bundle(version = 1), kernels))
        assertEquals(0, kernels.runs)
        assertTrue(": of version 1, without fixtures" in notices.single())
    }

    @Test
    fun `texts pictures and tokens are run as a search runs them`() {
        val folder = bundle()
        val kernels = Kernels(RIGHT)
        val models = models(folder, kernels)
        for (role in listOf("text_tower", "image_tower", "llm_embed")) {
            models.session(role)
            assertEquals("measured", models.verdicts.getValue(role).source)
        }
        // Each text without its masked tokens.
        assertEquals(listOf("5 6", "7"), kernels.given.getValue("input_ids"))
        assertEquals(listOf("1 1", "1"), kernels.given.getValue("attention_mask"))
        assertEquals(listOf("-1 0 1 2 3 4", "5 6 7 8 9 10"), kernels.given.getValue("photo"))
        assertEquals(listOf("3", "9"), kernels.given.getValue("ids")) // one id per run
    }

    @Test
    fun `a manifest of a later version is refused`() {
        val error = assertFailsWith<BundleError> { ManifestJson.parse("{\"schema_version\": 99}", "x") }
        assertEquals("x: schema version 99, this program reads 1 to 3: update it, or export again", error.message)
    }

    @Test
    fun `sides of an array may not wrap around`() {
        val file = File(home, "a.npy")
        npy(file, "|u1", "2147483647, 2147483647, 2147483647", listOf(1f))
        assertFailsWith<BundleError> { Npy.map(file) }
    }

    @Test
    fun `a processor is named by what kernels choose by`() {
        fun x86(flags: String) = Processor.of("amd64", "processor : 0\nmodel name\t: X\nflags\t\t: fpu sse2 $flags\nbugs : avx2\n\nflags : none\n")
        fun arm(features: String) = Processor.of("aarch64", "processor : 0\nFeatures\t: fp $features crc32\nCPU part : 0xd0b\n")
        val wide = "avx512f avx512bw avx512dq avx512vl"
        val zen = x86("sse4_2 avx2 $wide avx512_vnni")
        assertEquals("onnxruntime 1.29.0, x86_64 sse4.2 avx2 avx512 vnni", zen.kernels("onnxruntime 1.29.0"))
        assertEquals(listOf(false, true), listOf(zen.saturates, Processor.of("x86_64", "flags : sse4_2 avx2").saturates))
        assertEquals("x86_64", Processor.of("x86_64", "").described)
        val says = listOf(
            zen to "int8, VNNI", x86("sse4_2 avx2 avx_vnni") to "int8, VNNI", x86("sse4_2 avx2 $wide") to "int8, precise AVX-512",
            x86("sse4_2 avx2 avx512f") to "int8, precise AVX2", x86("sse4_2") to "int8, precise SSE4.2", x86("") to "int8, precise SSE2",
            arm("asimd asimddp sve") to "int8, dot product of ARM", arm("asimd") to "int8, NEON", Processor.of("riscv64", "") to "int8, riscv64",
        )
        for ((processor, text) in says) assertEquals(text, processor.arithmetic("int8"))
        assertEquals("aarch64 neon dotprod sve", arm("asimd asimddp sve").described)
        assertEquals(listOf("fp32", "int4, unfused"), listOf(zen.arithmetic("fp32", Units.UNFUSED), zen.arithmetic("int4", Units.UNFUSED)))
    }

    private fun notes(): List<File> = File(cache, "selfcheck").listFiles()!!.toList()

    private fun artifact() = ManifestJson.parse(File(bundle(), "manifest.json").readText(), "x").artifact(ROUTER, "onnx")

    private fun models(folder: File, kernels: Backend, cache: File? = this.cache): Models =
        Models.open(folder, kernels, JdbcDatabase, cache = cache, notice = { notices.add(it) })

    private fun verdict(folder: File, kernels: Backend, cache: File? = this.cache): Verdict =
        models(folder, kernels, cache).let { it.session(ROUTER); it.verdicts.getValue(ROUTER) }

    /** A bundle of four small components whose parity was measured on the kernels [proven]. */
    private fun bundle(proven: String = "elsewhere", version: Int = 2): File {
        val folder = File(home, "bundle").also { it.deleteRecursively() }
        File(folder, "fixtures").mkdirs()
        File(folder, "weights.onnx").writeText("weights")
        if (version == 2) {
            fun golden(name: String, dtype: String, shape: String, values: List<Number>) =
                npy(File(folder, "fixtures/$name.npy"), dtype, shape, values)
            golden("dpe.patches", "<f4", "1, 4, 3", (0..11).toList())
            golden("$ROUTER.want", "<f4", "1, 3", RIGHT.toList())
            golden("text_tower.ids", "<i8", "2, 2", listOf(5, 6, 7, 0))
            golden("text_tower.mask", "<i8", "2, 2", listOf(1, 1, 1, 0))
            golden("image_tower.pixels", "|u1", "2, 1, 2, 3", listOf(255) + (0..10))
            golden("llm_embed.ids", "<i8", "2,", listOf(3, 9))
            for (role in listOf("text_tower", "image_tower", "llm_embed")) golden("$role.want", "<f4", "2, 3", RIGHT.toList() + RIGHT.toList())
        }
        fun told(path: String) = JSONObject().put("path", path).also { of ->
            Bundle.digest(File(folder, path)).let { (size, sha) -> of.put("bytes", size).put("sha256", sha) }
        }
        fun tensor(name: String, dtype: String) = JSONObject().put("name", name).put("dtype", dtype).put("shape", JSONArray(listOf("one", "some")))
        fun artifact(role: String, input: String, dtype: String, output: String) = told("weights.onnx").put("role", role).put("target", "onnx")
            .put("quant", "int8").put("inputs", JSONArray().put(tensor(input, dtype))).put("outputs", JSONArray().put(tensor(output, "float32")))
            .put("export_seconds", 1.0).put(
                "parity",
                JSONObject().put("status", "passed").put("metric", "cosine").put("threshold", 0.999).put("minimum", 0.9995).put("kernels", proven),
            )
        val artifacts = listOf(
            artifact(ROUTER, "patches", "float32", "weights"), artifact("text_tower", "input_ids", "int64", "embedding"),
            artifact("image_tower", "photo", "uint8", "embedding"), artifact("llm_embed", "ids", "int64", "embeds"),
        )
        val files = File(folder, "fixtures").list()!!.sorted().map { told("fixtures/$it").put("name", "fixtures/$it") }
        val manifest = JSONObject().put("schema_version", version).put("recipe", "r").put("quant", "int8").put("text_encoder", "t")
            .put("image_encoder", "i").put("dim", 3).put("components", JSONArray()).put("artifacts", JSONArray(artifacts))
            .put("preprocessing", JSONObject.NULL).put("language", JSONObject.NULL)
            .put("thresholds", JSONObject().put("delta", 0.5).put("rho", 0.7).put("k", 5).put("delta_from", "")).put("prompts", JSONObject())
            .put("files", JSONArray(files)).put("licences", JSONObject()).put("tools", JSONObject())
        File(folder, "manifest.json").writeText(manifest.toString())
        return folder
    }

    private fun npy(file: File, dtype: String, shape: String, values: List<Number>) {
        val header = "{'descr': '$dtype', 'fortran_order': False, 'shape': ($shape), }\n"
        val out = ByteBuffer.allocate(10 + header.length + values.size * dtype.drop(2).toInt()).order(ByteOrder.LITTLE_ENDIAN)
        out.put("\u0093NUMPY\u0001\u0000".toByteArray(Charsets.ISO_8859_1)).putShort(header.length.toShort()).put(header.toByteArray())
        for (value in values) when (dtype) {
            "<f4" -> out.putFloat(value.toFloat())
            "<i8" -> out.putLong(value.toLong())
            else -> out.put(value.toInt().toByte())
        }
        file.writeBytes(out.array())
    }

    /**
     * A backend whose fused form returns [fused], its unfused form [unfused] and an accelerator [accelerated] (null: it
     * refuses), for any input. It counts the calls and records the inputs.
     */
    private class Kernels(private val fused: FloatArray, private val unfused: FloatArray = fused, private val accelerated: FloatArray? = fused) : Backend {
        override val target = "onnx"
        override val version = VERSION
        val opened = ArrayList<Units>()
        val given = HashMap<String, ArrayList<String>>()
        var runs = 0
        var closed = 0

        override fun open(path: File, artifact: Artifact, threads: Int, units: Units): Session {
            opened.add(units)
            val answer = if (units.isAccelerator) accelerated ?: throw RuntimeFailure("no such accelerator") else if (units == Units.FUSED) fused else unfused
            return Fake(artifact, answer)
        }

        private inner class Fake(override val artifact: Artifact, private val answer: FloatArray) : Session {
            override fun run(inputs: Map<String, Tensor>): Map<String, Tensor> {
                runs++
                for ((name, tensor) in inputs) given.getOrPut(name) { ArrayList() }.add(values(tensor).joinToString(" "))
                return mapOf(artifact.outputs[0].name to Tensor.floats(answer, 1, answer.size.toLong()))
            }

            override fun bind(inputs: Map<String, Tensor>, outputs: Map<String, Tensor>): Binding = throw UnsupportedOperationException()

            override fun close() {
                closed++
            }
        }

        private fun values(of: Tensor): List<Number> = when (of.type) {
            Tensor.Type.INT64 -> List(of.longs.remaining()) { of.longs[it] }
            Tensor.Type.UINT8 -> List(of.bytes.remaining()) { of.bytes[it] }
            else -> of.toFloats().toList()
        }
    }

    private companion object {
        const val ROUTER = "dpe_router"
        const val VERSION = "9.9"
        val HERE = Processor.here.kernels("onnxruntime $VERSION")
        val RIGHT = floatArrayOf(0.2f, 0.3f, 0.5f)
        val WRONG = floatArrayOf(0.5f, 0.3f, 0.2f)
        val NONE = floatArrayOf(Float.NaN, Float.NaN, Float.NaN)
    }
}
