package gamer.indexing

/** Where a photo was taken, in degrees. */
data class Position(val lat: Double, val lon: Double) {
    companion object {
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
