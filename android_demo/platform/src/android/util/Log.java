package android.util;

public final class Log {
    public static int w(String tag, String message) {
        System.err.println("W " + tag + ": " + message);
        return 0;
    }

    public static int e(String tag, String message, Throwable error) {
        System.err.println("E " + tag + ": " + message);
        if (error != null) error.printStackTrace();
        return 0;
    }
}
