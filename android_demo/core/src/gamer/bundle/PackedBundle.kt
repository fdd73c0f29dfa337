package gamer.bundle

import gamer.common.BundleError
import java.io.ByteArrayOutputStream
import java.io.File
import java.io.IOException
import java.io.InputStream
import java.io.OutputStream
import java.util.zip.ZipInputStream

/**
 * A bundle as one file, as `gamer pack` writes it (runtime/bundle/packed.py): a ZIP whose first entry is the manifest. It
 * is not believed: names, sizes and hashes are those of the manifest, or the file is refused.
 */
object PackedBundle {
    private const val MAX_MANIFEST = 16 shl 20
    private const val BLOCK = 1 shl 20

    /**
     * Unpacks [input] beside [folder], checks every file, and puts it in the place of the bundle that is there, which is kept as
     * [before], if that is given and there is none. [name]: the file's, for messages. Raises [BundleError]; the bundle that was
     * there stays then.
     */
    fun unpack(input: InputStream, name: String, folder: File, before: File? = null) {
        val aside = File(folder.path + ".partial")
        aside.deleteRecursively()
        try {
            val manifest = extracted(ZipInputStream(input.buffered(BLOCK)), name, aside)
            checkWhole(Bundle(aside, manifest), name)
            replace(folder, aside, before)
        } catch (error: IOException) { // ZipException is one
            throw BundleError("$name: not a packed bundle, damaged, or no space is left (${error.message}): copy it again")
        } catch (error: IllegalArgumentException) { // ZipInputStream's for names that are no UTF-8
            throw BundleError("$name: not a packed bundle, or damaged (${error.message}): copy it again")
        } finally {
            aside.deleteRecursively()
        }
    }

    private fun extracted(zip: ZipInputStream, name: String, folder: File): Manifest {
        val first = zip.nextEntry
        if (first == null || first.name != MANIFEST_NAME) throw BundleError("$name: not a packed bundle: `gamer pack` makes one of a bundle")
        val text = upTo(zip, MAX_MANIFEST) ?: throw BundleError("$name: its manifest has more than $MAX_MANIFEST bytes")
        val manifest = ManifestJson.parse(String(text, Charsets.UTF_8), "$name: $MANIFEST_NAME")
        val room = HashMap<String, Long>()
        for (entry in manifest.entries) room[clean(entry.path)] = entry.bytes
        if (!folder.mkdirs()) throw IOException("${folder.path} cannot be made")
        File(folder, MANIFEST_NAME).writeBytes(text)
        val bundle = Bundle(folder, manifest)
        while (true) {
            val entry = zip.nextEntry ?: return manifest
            val owner = ancestors(clean(entry.name)).firstOrNull { it in room }
            val path = bundle.inside(entry.name)
            if (owner == null || entry.isDirectory || path.exists()) throw BundleError("$name: its manifest does not name '${entry.name.take(80)}'")
            path.parentFile!!.mkdirs()
            val left = room.getValue(owner)
            val written = path.outputStream().use { copy(zip, it, left) }
            if (written > left) throw BundleError("$name: '${entry.name.take(80)}' is larger than the manifest promises")
            room[owner] = left - written
        }
    }

    private fun clean(path: String): String = path.split('/').filter { it.isNotEmpty() && it != "." }.joinToString("/")

    /** "a/b/c", "a/b", "a". */
    private fun ancestors(path: String): Sequence<String> = generateSequence(path) { it.substringBeforeLast('/', "").ifEmpty { null } }

    /** The bytes that were copied; stops behind [most]. */
    private fun copy(from: InputStream, to: OutputStream, most: Long): Long {
        val block = ByteArray(BLOCK)
        var total = 0L
        while (total <= most) {
            val count = from.read(block)
            if (count < 0) break
            to.write(block, 0, count)
            total += count
        }
        return total
    }

    private fun upTo(from: InputStream, most: Int): ByteArray? {
        val out = ByteArrayOutputStream()
        return if (copy(from, out, most.toLong()) > most) null else out.toByteArray()
    }

    private fun checkWhole(bundle: Bundle, name: String) {
        for (entry in bundle.manifest.entries) {
            try {
                bundle.checked(entry)
            } catch (error: BundleError) {
                throw BundleError("$name: ${entry.path} in it is missing or not what its manifest promises: copy it again")
            }
        }
    }

    private fun replace(folder: File, new: File, before: File?) {
        val old = File(folder.path + ".old")
        old.deleteRecursively()
        if (folder.exists() && !folder.renameTo(old)) throw IOException("${folder.path} cannot be replaced")
        if (!new.renameTo(folder)) {
            old.renameTo(folder)
            throw IOException("${folder.path} cannot be written")
        }
        if (before == null || before.exists() || !old.renameTo(before)) old.deleteRecursively()
    }
}
