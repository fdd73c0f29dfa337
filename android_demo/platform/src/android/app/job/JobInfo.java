package android.app.job;

import android.content.ComponentName;
import android.net.Uri;
import java.util.ArrayList;
import java.util.List;
import standin.Phone;

public class JobInfo {
    public final ComponentName service;
    public final boolean isPersisted;
    public final long deadline; // ms; -1: none
    public final List<Uri> triggers;
    public final boolean needsPower;
    public static final int BACKOFF_POLICY_LINEAR = 0;
    private final int id;

    private JobInfo(Builder from) {
        id = from.id;
        service = from.service;
        isPersisted = from.isPersisted;
        deadline = from.deadline;
        triggers = List.copyOf(from.triggers);
        needsPower = from.needsPower;
    }

    public int getId() {
        return id;
    }

    public static final class TriggerContentUri {
        private final Uri uri;

        public TriggerContentUri(Uri uri, int flags) {
            this.uri = uri;
        }
    }

    public static final class Builder {
        private final int id;
        private final ComponentName service;
        private boolean isPersisted, needsPower;
        private long deadline = -1;
        private final List<Uri> triggers = new ArrayList<>();

        public Builder(int id, ComponentName service) {
            this.id = id;
            this.service = service;
        }

        public Builder setPersisted(boolean isPersisted) {
            if (isPersisted && !Phone.get().app.declares("android.permission.RECEIVE_BOOT_COMPLETED"))
                throw new IllegalArgumentException("Error: requested job be persisted without holding RECEIVE_BOOT_COMPLETED permission.");
            this.isPersisted = isPersisted;
            return this;
        }

        public Builder setOverrideDeadline(long milliseconds) {
            deadline = milliseconds;
            return this;
        }

        public Builder setRequiresCharging(boolean needsPower) {
            this.needsPower = needsPower;
            return this;
        }

        public Builder setBackoffCriteria(long milliseconds, int policy) {
            return this;
        }

        public Builder addTriggerContentUri(TriggerContentUri trigger) {
            triggers.add(trigger.uri);
            return this;
        }

        public JobInfo build() {
            if (deadline < 0 && triggers.isEmpty() && !needsPower) throw new IllegalArgumentException("You're trying to build a job with no constraints, this is not allowed.");
            if (isPersisted && !triggers.isEmpty()) throw new IllegalArgumentException("Can't call addTriggerContentUri() on a persisted job");
            return new JobInfo(this);
        }
    }
}
