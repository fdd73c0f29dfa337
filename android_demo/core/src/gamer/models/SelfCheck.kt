package gamer.models

import gamer.bundle.Artifact
import gamer.bundle.Bundle
import gamer.bundle.Hex
import gamer.common.PyText
import gamer.common.RuntimeFailure
import java.io.File
import java.io.IOException
import java.math.BigDecimal
import java.security.MessageDigest
import org.json.JSONException
import org.json.JSONObject

/**
 * The result of a component's self-check on this processor's kernels. [units]: the units of the backend that
 * were chosen. [cosine]: the worst of its fixtures, null if none was run. [source]: "export" (the manifest's
 * parity was measured on the same kernels), "measured" (just now), "remembered" (at an earlier opening), "no
 * fixtures".
 */
data class Verdict(val role: String, val units: Units, val cosine: Double?, val threshold: Double, val source: String)

/**
 * Checks components on kernels other than those of the export. A parity figure is valid only for the file and
 * the kernels with which it was measured. So when an engine, a version of it or a processor first opens a
 * component whose parity in the manifest names other kernels, the component's fixtures are run. The result is
 * stored in the folder [cache] (null: not stored). If the cosine is below the threshold, the backend's slower
 * form is tried, and [notice] is called with one line; if that fails too, the component is refused with an
 * error that holds the figures. An accelerator that refuses a component, is wrong, or cannot be checked is left for the
 * processor in the same way; the language model always runs on the processor.
 */
internal class SelfCheck(private val cache: File?, val notice: (String) -> Unit) {
    /**
     * Opens a component's session, with the result of its check. Raises BundleError for a file that changed
     * since export, [RuntimeFailure] if no form of the backend reaches the threshold.
     */
    fun open(bundle: Bundle, backend: Backend, role: String, threads: Int): Pair<Session, Verdict> {
        val artifact = bundle.manifest.artifact(role, backend.target)
        val path = bundle.checked(artifact)
        val here = Processor.here.kernels(backend.engine)
        val threshold = artifact.parity.threshold
        val chosen = if (backend.units.isAccelerator && role.startsWith("llm_")) Units.FUSED else backend.units
        fun opened(units: Units, cosine: Double?, source: String) =
            backend.open(path, artifact, threads, units) to Verdict(role, units, cosine, threshold, source)
        if (artifact.parity.kernels == here && chosen == Units.FUSED) return opened(Units.FUSED, artifact.parity.minimum, "export")
        val files = bundle.manifest.golden(role)
        if ("want" !in files) return opened(if (chosen.isAccelerator) Units.FUSED else chosen, null, "no fixtures")
        val note = note(artifact, files.values.map { it.sha256 }, if (chosen == Units.FUSED) here else "$here, ${chosen.said}")
        remembered(note, threshold)?.let { (units, cosine) -> return opened(units, cosine, "remembered") }

        val golden = Golden.read(bundle, role)
        val figures = ArrayList<String>()
        for (units in (listOf(chosen) + backend.forms).distinct()) {
            val (session, cosine) = try {
                backend.open(path, artifact, threads, units).let { it to measured(it, golden) }
            } catch (error: RuntimeFailure) {
                if (!units.isAccelerator) throw error
                figures.add("none, refused by ${units.said}")
                continue
            }
            figures.add("${if (cosine.isNaN()) "nan" else PyText.fixed(cosine, 4)} ${units.said}")
            // False for NaN.
            if (cosine >= threshold) {
                if (units != chosen) {
                    notice(
                        "$path: $role is wrong on this processor (worst cosine ${figures[0]}, ${plain(threshold)} is wanted): " +
                            "running it ${units.said}, slower",
                    )
                }
                remember(note, units, cosine)
                return session to Verdict(role, units, PyText.round(cosine, 6), threshold, "measured")
            }
            session.close()
        }
        throw RuntimeFailure("$path: worst cosine ${figures.joinToString(", ")} on $here, below ${plain(threshold)}: export with --quant none")
    }

    private fun measured(session: Session, golden: Golden): Double {
        var isDone = false
        try {
            return golden.worstCosine(session).also { isDone = true }
        } finally {
            if (!isDone) session.close()
        }
    }

    /** The file of the result; its name is a hash over the artifact, the fixtures and the kernels. */
    private fun note(artifact: Artifact, fixtures: List<String>, kernels: String): File? {
        val parts = listOf(artifact.sha256) + fixtures.sorted() + kernels
        val name = Hex.of(MessageDigest.getInstance("SHA-256").digest(parts.joinToString("\n").toByteArray())).take(24)
        return cache?.let { File(File(it, "selfcheck"), "$name.json") }
    }

    /**
     * Units and worst cosine of an earlier check that passed; null if there is none or its file is damaged.
     */
    private fun remembered(note: File?, threshold: Double): Pair<Units, Double>? {
        if (note == null) return null
        return try {
            val raw = JSONObject(note.readText())
            val units = Units.values().firstOrNull { it.said == raw.opt("units") } ?: return null
            val cosine = (raw.opt("cosine") as? Number)?.toDouble() ?: return null
            if (cosine >= threshold && cosine <= MOST) units to cosine else null
        } catch (error: IOException) {
            null
        } catch (error: JSONException) {
            null
        } catch (error: StackOverflowError) {
            // JSON with too deeply nested brackets.
            null
        }
    }

    /**
     * Written under a temporary name and renamed. If the cache cannot be written, the result is not stored.
     */
    private fun remember(note: File?, units: Units, cosine: Double) {
        if (note == null) return
        try {
            note.parentFile.mkdirs()
            val aside = File.createTempFile("verdict", null, note.parentFile)
            try {
                aside.writeText(JSONObject().put("units", units.said).put("cosine", cosine).toString())
                aside.renameTo(note)
            } finally {
                aside.delete()
            }
        } catch (error: IOException) {
            return
        }
    }

    private fun plain(threshold: Double): String = BigDecimal.valueOf(threshold).stripTrailingZeros().toPlainString()

    private companion object {
        const val MOST = 1.001 // a cosine above 1 by more than rounding is an error
    }
}
