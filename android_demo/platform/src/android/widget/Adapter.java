package android.widget;

import android.view.View;
import android.view.ViewGroup;

public interface Adapter {
    int getCount();

    Object getItem(int at);

    long getItemId(int at);

    View getView(int at, View old, ViewGroup parent);

    int getItemViewType(int at);

    int getViewTypeCount();
}
