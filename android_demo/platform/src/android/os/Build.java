package android.os;

public final class Build {
    public static final String MANUFACTURER = "stand-in", MODEL = "JVM";

    public static final class VERSION {
        /** Set by a test, before the app is started. */
        public static int SDK_INT = 36;
        public static String RELEASE = "16";
    }
}
