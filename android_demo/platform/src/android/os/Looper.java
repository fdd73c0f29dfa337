package android.os;

/** The main thread's looper. The queue is that of {@link Handler}. */
public final class Looper {
    private static final Looper MAIN = new Looper();

    public static Looper getMainLooper() {
        return MAIN;
    }
}
