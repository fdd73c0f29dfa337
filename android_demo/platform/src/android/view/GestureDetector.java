package android.view;

import android.content.Context;
import android.os.Handler;
import android.os.Looper;

/** A tap, two taps, a drag, a swipe; of two fingers the middle is dragged. */
public class GestureDetector {
    private static final int DOUBLE_MS = 300, LONG_MS = 500, SLOP = 20, FLING = 500; // pixels, and pixels per second

    public static class SimpleOnGestureListener {
        public boolean onDown(MotionEvent event) {
            return false;
        }

        public boolean onScroll(MotionEvent from, MotionEvent to, float right, float down) {
            return false;
        }

        public boolean onDoubleTap(MotionEvent event) {
            return false;
        }

        public boolean onSingleTapConfirmed(MotionEvent event) {
            return false;
        }

        public boolean onFling(MotionEvent from, MotionEvent to, float right, float down) {
            return false;
        }
    }

    private final SimpleOnGestureListener told;
    private final Handler later = new Handler(Looper.getMainLooper());
    private MotionEvent down, last;
    private Runnable single;
    private boolean isMoved, isSecond;

    public GestureDetector(Context context, SimpleOnGestureListener told) {
        this.told = told;
    }

    public boolean onTouchEvent(MotionEvent event) {
        return switch (event.action) {
            case MotionEvent.DOWN -> down(event);
            case MotionEvent.MOVE -> move(event);
            default -> up(event);
        };
    }

    private static float x(MotionEvent event) {
        return (event.getX(0) + event.getX(event.getPointerCount() - 1)) / 2;
    }

    private static float y(MotionEvent event) {
        return (event.getY(0) + event.getY(event.getPointerCount() - 1)) / 2;
    }

    private boolean down(MotionEvent event) {
        isSecond = single != null;
        if (isSecond) later.removeCallbacks(single);
        single = null;
        down = last = event;
        isMoved = event.getPointerCount() > 1;
        boolean taken = isSecond && told.onDoubleTap(event);
        return told.onDown(event) || taken;
    }

    private boolean move(MotionEvent event) {
        if (!isMoved && Math.hypot(x(event) - x(down), y(event) - y(down)) < SLOP) return false;
        isMoved = true;
        boolean taken = told.onScroll(down, event, x(last) - x(event), y(last) - y(event));
        last = event;
        return taken;
    }

    private boolean up(MotionEvent event) {
        float seconds = Math.max(1, event.time - down.time) / 1000f;
        float right = (x(event) - x(down)) / seconds, below = (y(event) - y(down)) / seconds;
        if (isMoved) return down.getPointerCount() == 1 && Math.max(Math.abs(right), Math.abs(below)) > FLING && told.onFling(down, event, right, below);
        if (isSecond || event.time - down.time > LONG_MS) return false;
        MotionEvent tapped = event;
        single = () -> {
            single = null;
            told.onSingleTapConfirmed(tapped);
        };
        later.postDelayed(single, DOUBLE_MS);
        return false;
    }
}
