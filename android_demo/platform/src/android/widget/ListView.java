package android.widget;

import android.graphics.drawable.Drawable;

public class ListView extends AbsListView {
    private Drawable divider;

    public ListView(android.content.Context context) {
        super(context);
    }

    public Drawable getDivider() {
        return divider;
    }

    public void setDivider(Drawable divider) {
        this.divider = divider;
    }
}
