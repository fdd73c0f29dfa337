package android.view;

import android.content.Context;
import android.graphics.Canvas;
import java.util.ArrayList;
import java.util.List;

public abstract class ViewGroup extends View {
    public static class LayoutParams {
        public static final int MATCH_PARENT = -1, WRAP_CONTENT = -2;
        public final int width, height;

        public LayoutParams(int width, int height) {
            this.width = width;
            this.height = height;
        }
    }

    protected final List<View> children = new ArrayList<>();
    private boolean isShown;

    protected ViewGroup(Context context) {
        super(context);
    }

    public void addView(View view) {
        change();
        if (view.parent != null) throw new IllegalStateException("The specified child already has a parent.");
        view.parent = this;
        view.shown(isShown);
        children.add(view);
        if (isShown) layout(getWidth(), getHeight());
    }

    public void addView(View view, LayoutParams wanted) {
        view.setLayoutParams(wanted);
        addView(view);
    }

    public void removeAllViews() {
        change();
        for (View view : children) {
            view.parent = null;
            view.shown(false);
        }
        children.clear();
    }

    @Override
    public View findViewById(int id) {
        View found = super.findViewById(id);
        for (int n = 0; found == null && n < children.size(); n++) found = children.get(n).findViewById(id);
        return found;
    }

    public int getChildCount() {
        return children.size();
    }

    public View getChildAt(int at) {
        return children.get(at);
    }

    @Override
    public void shown(boolean isShown) {
        super.shown(isShown);
        this.isShown = isShown;
        for (View view : children) view.shown(isShown);
    }

    /** Every child is as large as the group. */
    @Override
    public void layout(int width, int height) {
        super.layout(width, height);
        for (View view : children) view.layout(width, height);
    }

    @Override
    public void draw(Canvas canvas) {
        super.draw(canvas);
        for (View view : children) if (view.getVisibility() == VISIBLE) view.draw(canvas);
    }
}
