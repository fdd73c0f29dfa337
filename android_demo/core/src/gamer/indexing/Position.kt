package gamer.indexing

/** Where a photo was taken, in degrees. */
data class Position(val lat: Double, val lon: Double) {
    companion object {
        private val ISO_6709 = Regex("^([+-][0-9]{2}(?:\\.[0-9]{1,10})?)([+-][0-9]{3}(?:\\.[0-9]{1,10})?)")

        /** Of a text such as `+48.8577+002.2950+035.1/`, as videos have it (index/ingest/clips/clip_header.py). */
        fun iso6709(text: String): Position? = ISO_6709.find(text)?.destructured?.let { (lat, lon) -> plausible(lat.toDouble(), lon.toDouble()) }

        /**
         * Both if they are finite and in range (index/ingest/metadata/exif.py, `plausible`); else null. (0, 0), in the Gulf of Guinea,
         * means "no position" in all sources; cameras write 0/0, which is not a number, where there was no fix.
         */
        fun plausible(lat: Double, lon: Double): Position? {
            val isReal = Math.abs(lat) <= 90.0 && Math.abs(lon) <= 180.0 // false for NaN, too
            return if (!isReal || (Math.abs(lat) < 1e-6 && Math.abs(lon) < 1e-6)) null else Position(lat, lon)
        }
    }
}
