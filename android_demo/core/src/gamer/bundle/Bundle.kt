package gamer.bundle

import gamer.common.BundleError
import java.io.File
import java.io.IOException
import java.security.MessageDigest

/** A bundle directory: its manifest, and the paths of its files after their sizes and hashes were checked. */
class Bundle(val folder: File, val manifest: Manifest) {
    /** The path of one file of the manifest, after its size and hash were checked. Raises [BundleError]. */
    fun checked(entry: Promised): File {
        val path = inside(entry.path)
        if (!path.exists()) throw BundleError("$path: missing, though the manifest names it: copy the whole bundle, or export it again")
        val (size, sha) = digest(path)
        if (size != entry.bytes || sha != entry.sha256) {
            val promised = "${entry.bytes} and ${entry.sha256.take(12)}…"
            throw BundleError("$path: $size bytes, SHA-256 ${sha.take(12)}…; the manifest promises $promised: it changed since export, export again")
        }
        return path
    }

    /** Checks the files that are not artifacts: tokenizers, labels, gazetteer, fixtures. */
    fun checkFiles() = manifest.files.forEach { checked(it) }

    /** Checks every file that the manifest names. */
    fun checkAll() = manifest.entries.forEach { checked(it) }

    /** A data file of the bundle, by its name in the manifest. */
    fun data(name: String): File = inside(manifest.file(name).path)

    /** The path of a file of the bundle. Raises [BundleError] for a path that leaves the bundle. */
    fun inside(relative: String): File {
        val parts = relative.split('/').filter { it.isNotEmpty() && it != "." }
        val path = parts.fold(folder) { at, part -> File(at, part) }
        val leaves = '\u0000' in relative || relative.startsWith("/") || ".." in parts ||
            !(path.canonicalPath + "/").startsWith(folder.canonicalPath + "/")
        if (leaves) throw BundleError("${File(folder, MANIFEST_NAME)}: path '$relative' leaves the bundle")
        return path
    }

    companion object {
        /** Orders files by the parts of their paths, so that "a/b" comes before "a-b/c". */
        private val BY_PARTS = Comparator<File> { one, other ->
            val a = one.invariantSeparatorsPath.split('/')
            val b = other.invariantSeparatorsPath.split('/')
            a.zip(b).firstOrNull { (x, y) -> x != y }?.let { (x, y) -> x.compareTo(y) } ?: a.size.compareTo(b.size)
        }

        /** Opens a bundle. Only its manifest is read and checked. */
        fun open(folder: File): Bundle {
            val path = File(folder, MANIFEST_NAME)
            if (!path.isFile) throw BundleError("$folder: no $MANIFEST_NAME here: give the directory that `gamer export` wrote")
            val text = try {
                path.readText()
            } catch (error: IOException) {
                throw BundleError("$path: cannot be read (${error.message})")
            }
            return Bundle(folder, ManifestJson.parse(text, path.path))
        }

        /**
         * (bytes, SHA-256) of a file; of a directory, over its files' relative names and contents in sorted
         * order.
         */
        fun digest(path: File): Pair<Long, String> {
            val sha = MessageDigest.getInstance("SHA-256")
            var total = 0L
            val files = if (path.isDirectory) path.walkTopDown().filter { it.isFile }.sortedWith(BY_PARTS) else sequenceOf(path)
            val block = ByteArray(1 shl 20)
            for (file in files) {
                if (path.isDirectory) sha.update((file.relativeTo(path).invariantSeparatorsPath + "\u0000").toByteArray())
                file.inputStream().use { stream ->
                    while (true) {
                        val count = stream.read(block)
                        if (count < 0) break
                        sha.update(block, 0, count)
                        total += count
                    }
                }
            }
            return total to Hex.of(sha.digest())
        }
    }
}
