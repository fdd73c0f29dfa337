package android.widget;

import android.content.Context;
import android.view.View;
import android.view.ViewGroup;

public abstract class AdapterView<T extends Adapter> extends ViewGroup {
    public interface OnItemClickListener {
        void onItemClick(AdapterView<?> parent, View view, int at, long id);
    }

    public interface OnItemSelectedListener {
        void onItemSelected(AdapterView<?> parent, View view, int at, long id);

        void onNothingSelected(AdapterView<?> parent);
    }

    protected T adapter;
    private OnItemClickListener clicked;

    protected AdapterView(Context context) {
        super(context);
    }

    public T getAdapter() {
        return adapter;
    }

    public void setAdapter(T adapter) {
        change();
        this.adapter = adapter;
    }

    public void setOnItemClickListener(OnItemClickListener clicked) {
        this.clicked = clicked;
    }

    public boolean performItemClick(View view, int at, long id) {
        if (clicked == null) return false;
        clicked.onItemClick(this, view, at, id);
        return true;
    }
}
