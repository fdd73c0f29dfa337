package android.widget;

import android.content.Context;
import android.view.View;
import android.view.ViewGroup;

/** A child without a weight is a line high; those with weights share what is left. */
public class LinearLayout extends ViewGroup {
    public static final int HORIZONTAL = 0, VERTICAL = 1;
    private static final int LINE = 120; // pixels
    private int orientation = HORIZONTAL;

    public static class LayoutParams extends ViewGroup.LayoutParams {
        public static final int MATCH_PARENT = ViewGroup.LayoutParams.MATCH_PARENT;
        public final float weight;

        public LayoutParams(int width, int height) {
            this(width, height, 0);
        }

        public LayoutParams(int width, int height, float weight) {
            super(width, height);
            this.weight = weight;
        }

        public void setMargins(int left, int top, int right, int bottom) {}
    }

    public LinearLayout(Context context) {
        super(context);
    }

    public int getOrientation() {
        return orientation;
    }

    public void setOrientation(int orientation) {
        this.orientation = orientation;
    }

    @Override
    public void layout(int width, int height) {
        super.layout(width, height);
        float weights = 0;
        int lines = 0;
        for (View view : children) {
            if (view.getLayoutParams() instanceof LayoutParams wanted && wanted.weight > 0) weights += wanted.weight;
            else if (view.getVisibility() != GONE) lines++;
        }
        for (View view : children) {
            int size = view.getLayoutParams() instanceof LayoutParams wanted && wanted.weight > 0
                ? (int) (((orientation == VERTICAL ? height : width) - lines * LINE) * wanted.weight / weights) : LINE;
            view.layout(orientation == VERTICAL ? width : size, orientation == VERTICAL ? size : height);
        }
    }
}
