package android.widget;

import android.content.Context;
import android.os.Handler;
import android.os.Looper;

/** Tells its listener of the first selection, too, as the system does. */
public class Spinner extends AdapterView<SpinnerAdapter> {
    private OnItemSelectedListener selected;
    private int at;

    public Spinner(Context context) {
        super(context);
    }

    public void setOnItemSelectedListener(OnItemSelectedListener selected) {
        this.selected = selected;
        setSelection(at);
    }

    public OnItemSelectedListener getOnItemSelectedListener() {
        return selected;
    }

    public int getSelectedItemPosition() {
        return at;
    }

    public void setSelection(int at) {
        this.at = at;
        if (selected != null) new Handler(Looper.getMainLooper()).post(() -> selected.onItemSelected(this, null, at, at));
    }
}
