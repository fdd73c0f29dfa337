package android.widget;

import android.content.Context;
import android.view.ActionMode;
import android.view.Menu;
import android.view.View;
import android.view.ViewGroup;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import standin.Phone;

/** Has views for as many items as a screen shows, and hands those that were scrolled away to the adapter again. */
public abstract class AbsListView extends AdapterView<ListAdapter> {
    public static final int CHOICE_MODE_MULTIPLE_MODAL = 3;

    public interface MultiChoiceModeListener extends ActionMode.Callback {
        void onItemCheckedStateChanged(ActionMode mode, int at, long id, boolean checked);
    }

    private static final int ON_SCREEN = 15;
    private final TreeSet<Integer> checked = new TreeSet<>();
    private int choice;
    private MultiChoiceModeListener chosen;
    private ActionMode mode;
    private final Map<Integer, List<View>> old = new HashMap<>(); // by type
    private int first;
    private final Map<Integer, View> visible = new HashMap<>(); // by position

    protected AbsListView(Context context) {
        super(context);
    }

    public int getChoiceMode() {
        return choice;
    }

    public void setChoiceMode(int choice) {
        this.choice = choice;
    }

    public void setMultiChoiceModeListener(MultiChoiceModeListener chosen) {
        this.chosen = chosen;
    }

    public boolean isItemChecked(int at) {
        return checked.contains(at);
    }

    public int getCheckedItemCount() {
        return checked.size();
    }

    /** A person's finger stays on an item. */
    public void longPress(int at) {
        if (choice != CHOICE_MODE_MULTIPLE_MODAL || mode != null) return;
        Menu menu = new Menu();
        ActionMode made = new ActionMode() {
            @Override
            public Menu getMenu() {
                return menu;
            }

            @Override
            public void finish() {
                if (mode == null) return;
                mode = null;
                Phone.get().showBar(null, null);
                checked.clear();
                chosen.onDestroyActionMode(this);
                mark();
            }
        };
        if (!chosen.onCreateActionMode(made, menu)) return;
        mode = made;
        Phone.get().showBar(made, chosen);
        toggle(at);
    }

    private void toggle(int at) {
        if (!checked.remove(at)) checked.add(at);
        chosen.onItemCheckedStateChanged(mode, at, at, checked.contains(at));
        mark();
        if (checked.isEmpty()) mode.finish();
    }

    private void mark() {
        for (Map.Entry<Integer, View> shown : visible.entrySet()) shown.getValue().setActivated(checked.contains(shown.getKey()));
    }

    @Override
    public boolean performItemClick(View view, int at, long id) {
        if (mode == null) return super.performItemClick(view, at, id);
        toggle(at);
        return true;
    }

    public void setFastScrollEnabled(boolean enabled) {}

    public boolean isFastScrollEnabled() {
        return false;
    }

    @Override
    public void setAdapter(ListAdapter adapter) {
        super.setAdapter(adapter);
        checked.clear();
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
            view.setActivated(checked.contains(at));
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
