package android.system;

/** Names and values are kept, for a test to look at: a JVM cannot change its environment. */
public final class Os {
    public static final java.util.Map<String, String> SET = new java.util.concurrent.ConcurrentHashMap<>();

    public static void setenv(String name, String value, boolean overwrite) {
        if (overwrite) SET.put(name, value); else SET.putIfAbsent(name, value);
    }
}
