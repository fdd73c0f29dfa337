package gamer.app

import android.content.Context
import gamer.bundle.Bundle
import gamer.bundle.Manifest
import gamer.common.BundleError
import gamer.models.FaceReader
import java.io.File

/** What takes time, and is done only where the person chose it and the model can: [isPossible] of a bundle's manifest. */
enum class Wish(private val isPossible: (Manifest) -> Boolean) {
    /** The language model rewords searches: it finds more. */
    REWORDING({ it.hasLanguage }),

    /** People are searched for in the photos. */
    PEOPLE({ manifest -> manifest.artifacts.any { it.role == FaceReader.DETECTOR } });

    fun isPossible(bundle: File): Boolean = try {
        isPossible(Bundle.open(bundle).manifest)
    } catch (error: BundleError) {
        false
    }

    fun isChosen(context: Context): Boolean = choices(context).getString(name, null) != null

    fun choose(context: Context, isWanted: Boolean) = choices(context).edit().putString(name, if (isWanted) name else null).apply()
}
