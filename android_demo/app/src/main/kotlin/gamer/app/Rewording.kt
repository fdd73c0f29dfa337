package gamer.app

import android.content.Context
import gamer.bundle.Bundle
import gamer.common.BundleError
import java.io.File

/** Whether the language model rewords searches, as the person chose it: it finds more, and a search takes longer. */
object Rewording {
    private const val KEY = "rewording"

    /** Whether the bundle has a language model. */
    fun isPossible(bundle: File): Boolean = try {
        Bundle.open(bundle).manifest.hasLanguage
    } catch (error: BundleError) {
        false
    }

    fun isChosen(context: Context): Boolean = choices(context).getString(KEY, null) != null

    /** Chooses the opposite, and returns it. */
    fun change(context: Context): Boolean = (!isChosen(context)).also { choices(context).edit().putString(KEY, if (it) KEY else null).apply() }
}
