package gamer.app

import android.content.Intent
import java.io.File
import kotlin.test.Test
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFalse
import kotlin.test.assertNull
import kotlin.test.assertTrue
import org.json.JSONObject

/** The entry of a debug build, started as `adb shell am start` does. */
class MeasureTest : AppTest() {
    private val id = "0123456789abcdef"
    private val result get() = File(Here.filesDir, "$id.json")

    private fun started(vararg more: Pair<String, Any>): Intent = Intent(Here, MeasureActivity::class.java).apply {
        for ((key, value) in mapOf<String, Any>("id" to id, "bundle" to files.bundle.path, "runner" to "onnx", "rounds" to 2, "threads" to 1, "ops" to false) + more) when (value) {
            is String -> putExtra(key, value)
            is Int -> putExtra(key, value)
            is Boolean -> putExtra(key, value)
        }
    }

    private fun measured(vararg more: Pair<String, Any>): JSONObject {
        phone.open(started(*more))
        phone.until("it is measured") { result.isFile }
        return JSONObject(result.readText())
    }

    private fun JSONObject.steps(key: String) = getJSONArray(key).let { a -> (0 until a.length()).map { a.getJSONObject(it).getString("step") } }

    @Test
    fun `components, experts, operators and the phone are in the measurement`() {
        haveModel()
        phone.isSaving = true
        phone.thermal = 2
        val made = measured("ops" to true)
        assertEquals(listOf("text_tower", "image_tower", "dpe_router", "dpe_expert_2", "dpe_expert_1", "dpe_expert_0", "dpe"), made.steps("rows"))
        assertTrue(made.getJSONArray("rows").getJSONObject(0).run { getLong("first_ns") > 0 && getJSONArray("samples_ns").length() == 2 })
        assertContains(made.steps("operators"), "image_tower")
        assertEquals(listOf("stand-in JVM", "JVM", "jvm", "onnx", "moderate"), listOf("device", "model", "codename", "backend", "thermal").map(made::getString))
        assertEquals(1, made.getInt("threads"))
        val before = made.getJSONObject("before")
        assertTrue(before.getBoolean("saver") && before.getDouble("temperature_c") == 28.5 && before.getInt("battery") == 80)
        assertEquals("2026-11-05", made.getString("patch"))
        assertFalse(File(Here.cacheDir, "profiles").exists())
    }

    @Test
    fun `an album adds the layers of searches, and its copy goes again`() {
        haveIndexed()
        val made = measured("album" to files.album.path)
        assertEquals(List(6) { "" }, made.steps("rows").take(6))
        assertEquals(emptyList(), Here.cacheDir.listFiles().orEmpty().filter { "measured" in it.name })
    }

    @Test
    fun `what cannot be measured is an error in the file`() {
        assertContains(measured().getString("error"), "manifest.json")
        result.delete()
        haveModel()
        assertContains(measured("runner" to "executorch").getString("error"), "executorch")
    }

    @Test
    fun `a measurement that is left is an error in the file`() {
        haveModel()
        phone.open(started("rounds" to 1000))
        phone.until("it measures") { File(Here.filesDir, "progress.txt").isFile }
        phone.back()
        phone.until("it has ended") { result.isFile }
        assertContains(JSONObject(result.readText()).getString("error"), "left")
    }

    @Test
    fun `an id that is no id writes nothing`() {
        haveModel()
        phone.open(started("id" to "../../x"))
        phone.during(300)
        assertNull(Here.filesDir.listFiles()?.firstOrNull { it.name.endsWith(".json") })
    }
}
