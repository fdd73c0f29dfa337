package android.widget;

import android.content.Context;
import android.view.View;
import android.view.ViewGroup;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Has views for as many items as a screen shows, and hands those that were scrolled away to the adapter again. */
public abstract class AbsListView extends AdapterView<ListAdapter> {
    private static final int ON_SCREEN = 15;
    private final Map<Integer, List<View>> old = new HashMap<>(); // by type
    private int first;
    private final Map<Integer, View> visible = new HashMap<>(); // by position

    protected AbsListView(Context context) {
        super(context);
    }

    public void setFastScrollEnabled(boolean enabled) {}

    public boolean isFastScrollEnabled() {
        return false;
    }

    @Override
    public void setAdapter(ListAdapter adapter) {
        super.setAdapter(adapter);
        old.clear();
        visible.clear();
        children.clear();
        scrollTo(0);
    }

    public int getFirstVisiblePosition() {
        return first;
    }

    public void setSelection(int at) {
        scrollTo(at);
    }

    /** Shows the items from one on. */
    public void scrollTo(int first) {
        this.first = first;
        for (Map.Entry<Integer, View> shown : visible.entrySet())
            old.computeIfAbsent(adapter.getItemViewType(shown.getKey()), it -> new ArrayList<>()).add(shown.getValue());
        visible.clear();
        children.clear();
        for (int at = first; at < Math.min(first + ON_SCREEN, adapter == null ? 0 : adapter.getCount()); at++) {
            List<View> spare = old.getOrDefault(adapter.getItemViewType(at), new ArrayList<>());
            View used = spare.isEmpty() ? null : spare.remove(spare.size() - 1);
            View view = adapter.getView(at, used, this);
            view.shown(true);
            visible.put(at, view);
            children.add(view);
        }
    }

    /** The view of an item, scrolled to. */
    public View viewOf(int at) {
        if (!visible.containsKey(at)) scrollTo(at);
        return visible.get(at);
    }
}
