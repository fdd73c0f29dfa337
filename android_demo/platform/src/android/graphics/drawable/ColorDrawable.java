package android.graphics.drawable;

public class ColorDrawable extends Drawable {
    public final int color;

    public ColorDrawable(int color) {
        this.color = color;
    }

    @Override
    public int getIntrinsicWidth() {
        return -1;
    }

    @Override
    public int getIntrinsicHeight() {
        return -1;
    }
}
