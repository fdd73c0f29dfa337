package gamer.search

import gamer.album.Album
import gamer.album.AlbumWatch
import gamer.album.DatabaseOpener
import gamer.cues.CueTables
import gamer.models.Backend
import gamer.models.Models
import java.io.File

/**
 * An engine that stays open between searches: the models, with their verified hashes and sessions, until another bundle is
 * copied over theirs; the album, with its arrays, until something is committed to it. [rules] and [cache]: as for
 * [Engine.open]. Not thread-safe.
 */
class WarmEngine(
    bundle: File, album: File, rules: String, backend: Backend, databases: DatabaseOpener, threads: Int = 2, cache: File? = null,
) : AutoCloseable {
    private val watch = AlbumWatch(album, databases)
    private val tables by lazy { CueTables.read(rules) }
    private val models = Kept({ File(bundle, "manifest.json").run { lastModified() to length() } }, { Models.open(bundle, backend, databases, threads, cache = cache) }, Models::close)
    private val engine = Kept(
        { models.get().let { ours -> watch.version()?.let { ours to it } } },
        { Engine.over(models.get(), Album.open(album, databases), tables) },
        { it.album.close() },
    )

    /** The engine for the next search. Raises what [Engine.open] raises. */
    fun get(): Engine = engine.get()

    /** Closes the album, and keeps the models: while a reader is open the writer's log grows, and no copy takes the album's place. */
    fun rest() {
        engine.close()
        watch.close()
    }

    override fun close() {
        rest()
        models.close()
    }
}
