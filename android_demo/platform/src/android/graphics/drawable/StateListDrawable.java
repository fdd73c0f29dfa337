package android.graphics.drawable;

public class StateListDrawable extends Drawable {
    public void addState(int[] states, Drawable drawable) {}

    @Override
    public int getIntrinsicWidth() {
        return -1;
    }

    @Override
    public int getIntrinsicHeight() {
        return -1;
    }
}
