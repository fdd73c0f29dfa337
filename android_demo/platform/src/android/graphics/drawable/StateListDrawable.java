package android.graphics.drawable;

public class StateListDrawable extends Drawable {
    public void addState(int[] states, Drawable drawable) {}
}
