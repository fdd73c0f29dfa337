package android.graphics.drawable;

public abstract class Drawable {
    public int getIntrinsicWidth() {
        return -1;
    }

    public int getIntrinsicHeight() {
        return -1;
    }
}
