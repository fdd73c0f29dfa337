package android.app.job;

import android.os.Handler;
import android.os.Looper;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import standin.Phone;

/** Jobs start on the main thread: after their deadline, when a content that they wait for changes, or when a test ends their backoff. */
public class JobScheduler {
    private static final class Kept {
        final JobInfo job;
        JobService running;
        JobParameters parameters;
        boolean isInBackoff;

        Kept(JobInfo job) {
            this.job = job;
        }
    }

    private final Map<Integer, Kept> jobs = new LinkedHashMap<>();
    private final Handler main = new Handler(Looper.getMainLooper());

    public synchronized int schedule(JobInfo job) {
        if (!Phone.get().app.isService(job.service.of, "android.permission.BIND_JOB_SERVICE"))
            throw new IllegalArgumentException("No such service, or not one that requires android.permission.BIND_JOB_SERVICE: " + job.service.of);
        cancel(job.getId());
        Kept kept = new Kept(job);
        jobs.put(job.getId(), kept);
        if (job.deadline >= 0) main.postDelayed(() -> start(kept), job.deadline);
        return 1;
    }

    public synchronized void cancel(int id) {
        Kept kept = jobs.remove(id);
        if (kept != null && kept.running != null) main.post(() -> kept.running.onStopJob(kept.parameters));
    }

    public synchronized List<JobInfo> getAllPendingJobs() {
        List<JobInfo> out = new ArrayList<>();
        for (Kept kept : jobs.values()) out.add(kept.job);
        return out;
    }

    private void start(Kept kept) {
        synchronized (this) {
            if (jobs.get(kept.job.getId()) != kept || kept.running != null) return;
            kept.isInBackoff = false;
            try {
                kept.running = (JobService) kept.job.service.of.getConstructor().newInstance();
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
            kept.parameters = new JobParameters(kept.job.getId());
        }
        if (!kept.running.onStartJob(kept.parameters)) finished(kept.running, kept.parameters, false);
    }

    public synchronized void finished(JobService service, JobParameters parameters, boolean again) {
        Kept kept = jobs.get(parameters.getJobId());
        if (kept == null || kept.running != service) return; // another was scheduled in its place
        kept.running = null;
        kept.isInBackoff = again;
        if (!again) jobs.remove(parameters.getJobId());
    }

    /** The system needs the processor: running jobs are stopped, and start again after a backoff if they want to. */
    public synchronized void stopAll() {
        for (Kept kept : new ArrayList<>(jobs.values())) {
            if (kept.running == null) continue;
            JobService service = kept.running;
            JobParameters parameters = kept.parameters;
            main.post(() -> finished(service, parameters, service.onStopJob(parameters)));
        }
    }

    public synchronized void backoffOver() {
        for (Kept kept : jobs.values()) if (kept.isInBackoff) main.post(() -> start(kept));
    }

    /** The phone charges. */
    public synchronized void powered() {
        for (Kept kept : jobs.values()) if (kept.job.needsPower) main.post(() -> start(kept));
    }

    public synchronized void changed(String content) {
        for (Kept kept : jobs.values())
            if (kept.job.triggers.stream().anyMatch(trigger -> content.startsWith(trigger.toString()))) main.post(() -> start(kept));
    }

    /** After a restart of the phone: only persisted jobs are kept. */
    public synchronized void restarted() {
        jobs.values().removeIf(kept -> !kept.job.isPersisted);
    }
}
