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
 * Indexes the phone's photos in the background, committing each batch. No state is stored besides the album:
 * after an interruption, the next run lists the photos again and continues with those that the album lacks.
 * The scheduler restarts the job after the system stopped it, and after a restart of the phone.
 */
class IndexJob : JobService() {
    private val stopped = AtomicBoolean()

    override fun onStartJob(parameters: JobParameters): Boolean {
        stopped.set(false)
        Thread({
            val again = try {
                !run()
            } catch (error: Exception) {
                // Whatever failed, the job must be reported as finished; committed batches stay.
                Log.e(TAG, "indexing stopped: ${error.message}", error)
                Progress.failed(this, error.message ?: error.javaClass.simpleName)
                false
            }
            if (!stopped.get()) jobFinished(parameters, again)
        }, "index").start()
        return true
    }

    /** Called when the system needs the processor; returning true asks for another run. */
    override fun onStopJob(parameters: JobParameters): Boolean {
        stopped.set(true)
        return true
    }

    /** Indexes the photos that the album lacks. Returns false if the job was stopped before its end. */
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

    /**
     * The photo and its pixels. MediaStore stores the moment but no zone: the phone's zone is used, since
     * most photos are taken at home.
     */
    private fun taken(shot: Shot, store: PhotoStore, pictures: Pictures): Pair<Photo, Pixels?> {
        val own = store.particulars(shot)
        val offset = shot.takenAt?.let(store::offsetMinutes)
        val zone = if (offset == null) "local" else "position"
        val photo = Photo(shot.key, shot.uri.toString(), shot.takenAt, zone, own.lat, own.lon, utcOffset = offset)
        val pixels = try {
            pictures.pixels(shot, own.turn)
        } catch (error: Exception) {
            // A picture that cannot be decoded must not end the run; it is tried again in the next one.
            Log.w(TAG, "${shot.uri}: not read (${error.message})")
            null
        }
        return photo to pixels
    }

    companion object {
        private const val TAG = "GAMER"
        private const val ID = 7
        private const val BATCH = 16

        /** Starts the job soon; does nothing if it is already scheduled. */
        fun schedule(context: Context) {
            val scheduler = context.getSystemService(Context.JOB_SCHEDULER_SERVICE) as JobScheduler
            if (scheduler.allPendingJobs.any { it.id == ID }) return
            val job = JobInfo.Builder(ID, ComponentName(context, IndexJob::class.java)).setPersisted(true).setOverrideDeadline(1_000)
            scheduler.schedule(job.build())
        }
    }
}
