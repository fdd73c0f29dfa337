package android.os;

public final class Build {
    public static final String MANUFACTURER = "stand-in", MODEL = "JVM", DEVICE = "jvm", SOC_MODEL = "a server's";

    public static final class VERSION {
        /** Set by a test, before the app is started. */
        public static int SDK_INT = 36;
        public static String RELEASE = "16", SECURITY_PATCH = "2026-11-05";
    }
}
