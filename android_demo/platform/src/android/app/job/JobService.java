package android.app.job;

import android.content.Context;
import standin.Phone;

public abstract class JobService extends Context {
    public abstract boolean onStartJob(JobParameters parameters);

    public abstract boolean onStopJob(JobParameters parameters);

    public final void jobFinished(JobParameters parameters, boolean again) {
        Phone.get().scheduler.finished(this, parameters, again);
    }
}
