package gamer.glosses

import gamer.models.Models

/** The tables of glosses of an open bundle. */
object Bundled {
    private const val BEGINNING = "glosses-" // of the files' names

    /**
     * What reads queries in other languages than English; null for a bundle without tables. [told]: the language that
     * the reader of cues finds, or null. Raises BundleError for a damaged table.
     */
    fun reader(models: Models, told: (String) -> String?): Reader? {
        val names = names(models)
        return if (names.isEmpty()) null else Reader(names.map { GlossTable(models.bundle.data(it)) }, Guess.ranks(models.text.vocabulary()), told)
    }

    /** Whether the bundle reads other languages than English by glosses. */
    fun isThere(models: Models): Boolean = names(models).isNotEmpty()

    private fun names(models: Models): List<String> = models.manifest.files.map { it.name }.filter { it.startsWith(BEGINNING) }
}
