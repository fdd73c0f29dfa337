package gamer.app

import android.app.job.JobInfo
import android.app.job.JobParameters
import android.app.job.JobScheduler
import android.app.job.JobService
import android.content.ComponentName
import android.content.Context
import android.net.Uri
import android.os.Process
import android.provider.MediaStore.Images.Media
import android.provider.MediaStore.Video.Media as Video
import android.util.Log
import gamer.common.oneLine
import gamer.screen.Access
import gamer.screen.Pause
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
        if (parameters.jobId == GALLERY) { // photos came, were edited or went
            schedule(this)
            watch(this)
            return false
        }
        stopped.set(false)
        wanted.set(false)
        Thread({
            Process.setThreadPriority(Process.THREAD_PRIORITY_BACKGROUND) // and that of the models' threads, which it starts
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
                val isLow = again && Power.pause(this) == Pause.BATTERY
                if (!stopped.get()) jobFinished(parameters, again && !isLow)
                if (wanted.getAndSet(false)) schedule(this) else if (isLow && !stopped.get()) scheduleForPower()
            }
        }, "index").start()
        return true
    }

    /** Called when the system needs the processor; returning true asks for another run. */
    override fun onStopJob(parameters: JobParameters): Boolean {
        stopped.set(true)
        if (parameters.jobId != POWER) return true
        wanted.set(true) // the charger was taken away, and the battery may be enough now
        return false
    }

    /**
     * Indexes the photos that the album lacks. Returns false if the job was stopped before its end, or pauses: the
     * scheduler then starts it again.
     */
    private fun run(): Boolean {
        if (mustStop()) return false
        if (!Files(this).hasBundle() || Permissions.access(this) == Access.NONE) return true
        return Cores.index(this).use { index -> index.run(PhotoStore(this), ::mustStop) { Progress.set(this, it) } }
    }

    /** The job goes on when the phone charges: nothing is tried before. */
    private fun scheduleForPower() {
        scheduler(this).schedule(job(this, POWER).setPersisted(true).setRequiresCharging(true).build())
    }

    private fun mustStop(): Boolean {
        val why = Power.pause(this)
        if (why != null) Progress.paused(this, why)
        return why != null || stopped.get()
    }

    companion object {
        private const val TAG = "GAMER"
        private const val ID = 7
        private const val GALLERY = 8
        private const val POWER = 9
        private const val BACKOFF_MS = 30_000L // more for each stop by the system, of which a first indexing has many
        private val RUN = Any()
        private val wanted = AtomicBoolean() // a run is, and another was asked for: photos may have come since it listed them

        /** Whether this process indexes at this moment. */
        @Volatile
        var isRunning = false
            private set

        /**
         * Starts the job soon. One that is scheduled already may wait for hours in its backoff: it is scheduled anew, unless
         * it runs.
         */
        fun schedule(context: Context): Pressed {
            val pressed = Pressed.of(scheduler(context).allPendingJobs.any { it.id == ID }, isRunning)
            if (pressed == Pressed.RUNNING) {
                wanted.set(true)
                return pressed
            }
            cancel(context)
            val job = job(context, ID).setPersisted(true).setOverrideDeadline(1_000).setBackoffCriteria(BACKOFF_MS, JobInfo.BACKOFF_POLICY_LINEAR)
            scheduler(context).schedule(job.build())
            return pressed
        }

        /** Ends a run after its present batch: its model is about to be another. */
        fun stop(context: Context) {
            wanted.set(false)
            cancel(context)
        }

        /** Does [work] while no photo is indexed: a run ends after its present batch, and goes on later. */
        fun <T> pausing(context: Context, work: () -> T): T {
            val wasRunning = isRunning
            if (wasRunning) stop(context)
            try {
                return synchronized(RUN, work)
            } finally {
                if (wasRunning) schedule(context)
            }
        }

        private fun cancel(context: Context) = listOf(ID, POWER).forEach(scheduler(context)::cancel)

        private fun scheduler(context: Context) = context.getSystemService(Context.JOB_SCHEDULER_SERVICE) as JobScheduler

        private fun job(context: Context, id: Int) = JobInfo.Builder(id, ComponentName(context, IndexJob::class.java))

        /** Has the system start the job when the gallery changes. A job with such a trigger ends with the phone's restart. */
        fun watch(context: Context) {
            val job = job(context, GALLERY)
            // JobInfo.TriggerContentUri is newer than the platform that the app is compiled against.
            val trigger = Class.forName("android.app.job.JobInfo\$TriggerContentUri")
            val made = trigger.getConstructor(Uri::class.java, Int::class.javaPrimitiveType)
            val add = JobInfo.Builder::class.java.getMethod("addTriggerContentUri", trigger)
            for (all in listOf(Media.EXTERNAL_CONTENT_URI, Video.EXTERNAL_CONTENT_URI)) add.invoke(job, made.newInstance(all, DESCENDANTS))
            scheduler(context).schedule(job.build())
        }

        private const val DESCENDANTS = 1 // JobInfo.TriggerContentUri.FLAG_NOTIFY_FOR_DESCENDANTS
    }
}
