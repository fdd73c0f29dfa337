package android.view;

import android.content.Context;

/** Two fingers. */
public class ScaleGestureDetector {
    public static class SimpleOnScaleGestureListener {
        public boolean onScale(ScaleGestureDetector found) {
            return false;
        }
    }

    private final SimpleOnScaleGestureListener told;
    private double apart;
    private float factor, x, y;

    public ScaleGestureDetector(Context context, SimpleOnScaleGestureListener told) {
        this.told = told;
    }

    public boolean onTouchEvent(MotionEvent event) {
        if (event.getPointerCount() < 2 || event.action == MotionEvent.UP) {
            apart = 0;
            return true;
        }
        double now = Math.hypot(event.getX(0) - event.getX(1), event.getY(0) - event.getY(1));
        x = (event.getX(0) + event.getX(1)) / 2;
        y = (event.getY(0) + event.getY(1)) / 2;
        factor = apart > 0 ? (float) (now / apart) : 1;
        boolean taken = apart > 0 && told.onScale(this);
        if (apart == 0 || taken) apart = now;
        return true;
    }

    public boolean isInProgress() {
        return apart > 0;
    }

    public float getScaleFactor() {
        return factor;
    }

    public float getFocusX() {
        return x;
    }

    public float getFocusY() {
        return y;
    }
}
