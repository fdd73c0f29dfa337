package android.view;

import android.content.Context;
import android.content.res.Resources;
import android.graphics.Canvas;
import standin.Phone;

public class View {
    private boolean keepsScreenOn;
    public static final int VISIBLE = 0, INVISIBLE = 4, GONE = 8;

    public interface OnClickListener {
        void onClick(View view);
    }

    private static int ids;
    protected final Context context;
    View parent;
    private boolean isShown; // the screen's content has it: then only the main thread may change it
    private int id, width, height, visibility, background;
    private boolean fitsSystemWindows, isEnabled = true, isActivated;
    private android.graphics.drawable.Drawable foreground;
    private Object tag;
    private CharSequence description;
    private OnClickListener clicked;
    private OnTouchListener touched;
    private boolean isClickable, isTouched;
    private ViewGroup.LayoutParams wanted;

    public View(Context context) {
        this.context = context;
    }

    public static int generateViewId() {
        return ++ids;
    }

    public int getId() {
        return id;
    }

    public void setId(int id) {
        this.id = id;
    }

    public View findViewById(int id) {
        return this.id == id ? this : null;
    }

    public Object getWindowToken() {
        return isShown ? this : null;
    }

    public boolean requestFocus() {
        change();
        return true;
    }

    public final Context getContext() {
        return context;
    }

    public Resources getResources() {
        return context.getResources();
    }

    /** Throws, as the system does, if the view is on the screen and another thread than the main one changes it. */
    protected final void change() {
        if (isShown && Thread.currentThread() != Phone.get().main)
            throw new IllegalStateException("CalledFromWrongThreadException: Only the original thread that created a view hierarchy can touch its views.");
    }

    public void shown(boolean isShown) {
        this.isShown = isShown;
    }

    /** Gives the view its size, in pixels. */
    public void layout(int width, int height) {
        if (width == this.width && height == this.height) return;
        int oldWidth = this.width, oldHeight = this.height;
        this.width = width;
        this.height = height;
        onSizeChanged(width, height, oldWidth, oldHeight);
    }

    protected void onSizeChanged(int width, int height, int oldWidth, int oldHeight) {}

    protected void onDraw(Canvas canvas) {}

    public void draw(Canvas canvas) {
        if (background != 0) canvas.drawColor(background);
        onDraw(canvas);
    }

    public interface OnTouchListener {
        boolean onTouch(View view, MotionEvent event);
    }

    public boolean onTouchEvent(MotionEvent event) {
        return isClickable;
    }

    public void setOnTouchListener(OnTouchListener touched) {
        this.touched = touched;
    }

    public boolean isClickable() {
        return isClickable;
    }

    public void setClickable(boolean isClickable) {
        this.isClickable = isClickable;
    }

    /** A view that does not take a finger's first touch is told of nothing that follows. */
    public final boolean dispatchTouchEvent(MotionEvent event) {
        if (event.action == MotionEvent.DOWN) isTouched = true;
        if (!isTouched) return false;
        boolean took = touched != null && touched.onTouch(this, event) || onTouchEvent(event);
        if (event.action == MotionEvent.DOWN) isTouched = took;
        return took;
    }

    public final int getWidth() {
        return width;
    }

    public final int getHeight() {
        return height;
    }

    public void invalidate() {
        change();
    }

    public void setPadding(int left, int top, int right, int bottom) {
        change();
    }

    public void setBackgroundColor(int color) {
        change();
        background = color;
    }

    public boolean getFitsSystemWindows() {
        return fitsSystemWindows;
    }

    public void setFitsSystemWindows(boolean fits) {
        change();
        fitsSystemWindows = fits;
    }

    public void setKeepScreenOn(boolean on) {
        keepsScreenOn = on;
    }

    public boolean getKeepScreenOn() {
        return keepsScreenOn;
    }

    public int getVisibility() {
        return visibility;
    }

    public void setVisibility(int visibility) {
        change();
        this.visibility = visibility;
    }

    public boolean isEnabled() {
        return isEnabled;
    }

    public void setEnabled(boolean isEnabled) {
        change();
        this.isEnabled = isEnabled;
    }

    public boolean isActivated() {
        return isActivated;
    }

    public void setActivated(boolean isActivated) {
        change();
        this.isActivated = isActivated;
    }

    public android.graphics.drawable.Drawable getForeground() {
        return foreground;
    }

    public void setForeground(android.graphics.drawable.Drawable foreground) {
        change();
        this.foreground = foreground;
    }

    public Object getTag() {
        return tag;
    }

    public void setTag(Object tag) {
        this.tag = tag;
    }

    public CharSequence getContentDescription() {
        return description;
    }

    public void setContentDescription(CharSequence description) {
        change();
        this.description = description;
    }

    public ViewGroup.LayoutParams getLayoutParams() {
        return wanted;
    }

    public void setLayoutParams(ViewGroup.LayoutParams wanted) {
        change();
        this.wanted = wanted;
    }

    public void setOnClickListener(OnClickListener clicked) {
        this.clicked = clicked;
    }

    public boolean performClick() {
        if (clicked == null) return false;
        clicked.onClick(this);
        return true;
    }
}
