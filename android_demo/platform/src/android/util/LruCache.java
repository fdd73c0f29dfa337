package android.util;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

public class LruCache<K, V> {
    private final Map<K, V> kept = new LinkedHashMap<>(16, 0.75f, true);
    private final int most;
    private int size;

    public LruCache(int most) {
        this.most = most;
    }

    protected int sizeOf(K key, V value) {
        return 1;
    }

    public final synchronized V get(K key) {
        return kept.get(key);
    }

    public final synchronized V put(K key, V value) {
        V before = kept.put(key, value);
        size += sizeOf(key, value) - (before == null ? 0 : sizeOf(key, before));
        for (Iterator<Map.Entry<K, V>> oldest = kept.entrySet().iterator(); size > most && oldest.hasNext(); oldest.remove()) {
            Map.Entry<K, V> entry = oldest.next();
            size -= sizeOf(entry.getKey(), entry.getValue());
        }
        return before;
    }

    public final synchronized void evictAll() {
        kept.clear();
        size = 0;
    }
}
