package android.content;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

public class SharedPreferences {
    private final Map<String, Object> values = new ConcurrentHashMap<>();

    public String getString(String key, String other) {
        return values.containsKey(key) ? (String) values.get(key) : other;
    }

    public int getInt(String key, int other) {
        return (Integer) values.getOrDefault(key, other);
    }

    public Map<String, ?> getAll() {
        return Map.copyOf(values);
    }

    public Editor edit() {
        return new Editor();
    }

    public class Editor {
        public Editor putString(String key, String value) {
            if (value == null) return remove(key);
            values.put(key, value);
            return this;
        }

        public Editor putInt(String key, int value) {
            values.put(key, value);
            return this;
        }

        public Editor putLong(String key, long value) {
            values.put(key, value);
            return this;
        }

        public Editor remove(String key) {
            values.remove(key);
            return this;
        }

        public void apply() {}
    }
}
