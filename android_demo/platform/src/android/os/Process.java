package android.os;

/** Here a thread keeps its priority; a test sees what it asked for. */
public final class Process {
    public static final int THREAD_PRIORITY_BACKGROUND = 10;
    public static volatile int last;

    public static void setThreadPriority(int priority) {
        last = priority;
    }
}
