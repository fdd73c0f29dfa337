package android.graphics.drawable;

public class ColorDrawable extends Drawable {
    public final int color;

    public ColorDrawable(int color) {
        this.color = color;
    }
}
