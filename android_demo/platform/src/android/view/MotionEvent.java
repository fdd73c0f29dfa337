package android.view;

public final class MotionEvent {
    public static final int DOWN = 0, UP = 1, MOVE = 2;
    public final int action;
    public final long time; // ms
    private final float[] at; // x and y of each finger

    public MotionEvent(int action, long time, float... at) {
        this.action = action;
        this.time = time;
        this.at = at;
    }

    public int getPointerCount() {
        return at.length / 2;
    }

    public float getX() {
        return at[0];
    }

    public float getY() {
        return at[1];
    }

    public float getX(int finger) {
        return at[2 * finger];
    }

    public float getY(int finger) {
        return at[2 * finger + 1];
    }
}
