package android.graphics;

public class Paint {
    public static final int ANTI_ALIAS_FLAG = 1;
    private int color = 0xFF000000;

    public Paint() {}

    public Paint(int flags) {}

    public int getColor() {
        return color;
    }

    public void setColor(int color) {
        this.color = color;
    }
}
