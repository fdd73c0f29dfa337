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
        val names = models.manifest.files.map { it.name }.filter { it.startsWith(BEGINNING) }
        return if (names.isEmpty()) null else Reader(names.map { GlossTable(models.bundle.data(it)) }, Guess.ranks(models.text.vocabulary()), told)
    }
}
