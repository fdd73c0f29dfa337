package gamer.app

import android.app.job.JobInfo
import android.app.job.JobParameters
import android.app.job.JobScheduler
import android.app.job.JobService
import android.content.ComponentName
import android.content.Context
import android.util.Log
import gamer.common.oneLine
import gamer.screen.Access
import gamer.screen.Pressed
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
            // An earlier job may still be at its last photo, which it was told to stop after.
            synchronized(RUN) {
                isRunning = true
                val again = try {
                    !run()
                } catch (error: Throwable) { // a library that cannot be loaded, or memory, is an Error
                    // Whatever failed, the job must be reported as finished; committed batches stay.
                    Log.e(TAG, "indexing stopped: ${error.message}", error)
                    Progress.failed(this, oneLine(error))
                    false
                } finally {
                    isRunning = false
                }
                if (!stopped.get()) jobFinished(parameters, again)
            }
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
        if (stopped.get()) return false
        if (!Files(this).hasBundle() || Permissions.access(this) == Access.NONE) return true
        val source = PhoneSource(PhotoStore(this))
        return Cores.index(this).use { index -> index.run(source, stopped::get) { Progress.set(this, it) } }
    }

    companion object {
        private const val TAG = "GAMER"
        private const val ID = 7
        private val RUN = Any()

        /** Whether this process indexes at this moment. */
        @Volatile
        var isRunning = false
            private set

        /**
         * Starts the job soon. One that is scheduled already may wait for hours in its backoff: it is scheduled anew, unless
         * it runs.
         */
        fun schedule(context: Context): Pressed {
            val scheduler = context.getSystemService(Context.JOB_SCHEDULER_SERVICE) as JobScheduler
            val pressed = Pressed.of(scheduler.allPendingJobs.any { it.id == ID }, isRunning)
            if (pressed == Pressed.RUNNING) return pressed
            scheduler.cancel(ID)
            val job = JobInfo.Builder(ID, ComponentName(context, IndexJob::class.java)).setPersisted(true).setOverrideDeadline(1_000)
            scheduler.schedule(job.build())
            return pressed
        }
    }
}
