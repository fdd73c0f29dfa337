package gamer.app

import android.app.job.JobInfo
import android.app.job.JobParameters
import android.app.job.JobScheduler
import android.app.job.JobService
import android.content.ComponentName
import android.content.Context
import android.util.Log
import gamer.album.Photo
import gamer.image.Pixels
import java.util.concurrent.atomic.AtomicBoolean

/**
 * Indexes the phone's photos in the background, a batch at a time, each committed by itself. The album is the only memory: whoever is killed, the next
 * run lists the photos again and goes on with those that the album does not hold. The scheduler starts it again when the system stopped it, and after
 * a restart of the phone.
 */
class IndexJob : JobService() {
    private val stopped = AtomicBoolean()

    override fun onStartJob(parameters: JobParameters): Boolean {
        stopped.set(false)
        Thread({
            val again = try {
                !run()
            } catch (error: Exception) { // the job must end, whatever failed; what was committed stays
                Log.e(TAG, "indexing stopped: ${error.message}", error)
                Progress.failed(this, error.message ?: error.javaClass.simpleName)
                false
            }
            if (!stopped.get()) jobFinished(parameters, again)
        }, "index").start()
        return true
    }

    /** The system wants its processor back: true asks for another turn. */
    override fun onStopJob(parameters: JobParameters): Boolean {
        stopped.set(true)
        return true
    }

    /** Whether everything is in the album. */
    private fun run(): Boolean {
        val files = Files(this)
        if (!files.hasBundle() || Access.of(this) == Access.NONE) return true
        val store = PhotoStore(this)
        val pictures = Pictures(store)
        Cores.index(this).use { index ->
            val shots = store.list()
            val missing = shots.filter { it.key !in index.known }
            var done = shots.size - missing.size
            Progress.set(this, done, shots.size)
            for (batch in missing.chunked(BATCH)) {
                if (stopped.get()) return false
                index.add(batch.map { taken(it, store, pictures) })
                done += batch.size
                Progress.set(this, done, shots.size)
            }
            if (missing.isNotEmpty()) index.finish()
        }
        return true
    }

    /** MediaStore knows the moment, not the zone: the phone's own is taken, for most photos are from home. */
    private fun taken(shot: Shot, store: PhotoStore, pictures: Pictures): Pair<Photo, Pixels?> {
        val own = store.particulars(shot)
        val offset = shot.takenAt?.let(store::offsetMinutes)
        val zone = if (offset == null) "local" else "position"
        val photo = Photo(shot.key, shot.uri.toString(), shot.takenAt, zone, own.lat, own.lon, utcOffset = offset)
        val pixels = try {
            pictures.pixels(shot, own.turn)
        } catch (error: Exception) { // one picture that no codec reads must not end the run; it is tried again in the next
            Log.w(TAG, "${shot.uri}: not read (${error.message})")
            null
        }
        return photo to pixels
    }

    companion object {
        private const val TAG = "GAMER"
        private const val ID = 7
        private const val BATCH = 16

        /** Starts it soon; a job that is already there is left as it is. */
        fun schedule(context: Context) {
            val scheduler = context.getSystemService(Context.JOB_SCHEDULER_SERVICE) as JobScheduler
            if (scheduler.allPendingJobs.any { it.id == ID }) return
            val job = JobInfo.Builder(ID, ComponentName(context, IndexJob::class.java)).setPersisted(true).setOverrideDeadline(1_000)
            scheduler.schedule(job.build())
        }
    }
}
