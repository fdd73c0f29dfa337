package android.os;

import java.util.HashMap;
import java.util.Map;

/** What goes between screens. It must fit into a transaction of the system, of about one MB for all that are under way. */
public final class Bundle {
    private static final int MOST_BYTES = 500_000;
    private final Map<String, Object> values = new HashMap<>();

    public void put(String key, Object value) {
        values.put(key, value);
    }

    public void putString(String key, String value) {
        values.put(key, value);
    }

    public void putInt(String key, int value) {
        values.put(key, value);
    }

    public int getInt(String key) {
        return getInt(key, 0);
    }

    public int getInt(String key, int other) {
        return values.get(key) instanceof Integer found ? found : other;
    }

    public String getString(String key) {
        return values.get(key) instanceof CharSequence found ? found.toString() : null;
    }

    public Object get(String key) {
        return values.get(key);
    }

    /** Throws, as the system does, if the values are too large to go between processes. */
    public void checkSize() {
        long bytes = 0;
        for (Object value : values.values()) {
            if (value instanceof String text) bytes += 8 + 2L * text.length();
            else if (value instanceof String[] texts) for (String text : texts) bytes += 8 + 2L * (text == null ? 0 : text.length());
            else if (value instanceof double[] numbers) bytes += 8L * numbers.length;
            else bytes += 8;
        }
        if (bytes > MOST_BYTES) throw new IllegalStateException("TransactionTooLargeException: " + bytes + " bytes");
    }
}
