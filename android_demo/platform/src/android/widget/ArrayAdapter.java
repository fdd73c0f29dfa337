package android.widget;

import android.content.Context;
import android.view.View;
import android.view.ViewGroup;
import java.util.List;

public class ArrayAdapter<T> extends BaseAdapter {
    private final Context context;
    private final List<T> items;

    public ArrayAdapter(Context context, int layout, List<T> items) {
        this.context = context;
        this.items = items;
    }

    @Override
    public int getCount() {
        return items.size();
    }

    @Override
    public Object getItem(int at) {
        return items.get(at);
    }

    @Override
    public long getItemId(int at) {
        return at;
    }

    @Override
    public View getView(int at, View old, ViewGroup parent) {
        TextView out = new TextView(context);
        out.setText(items.get(at).toString());
        return out;
    }
}
