package android.content;

public interface ComponentCallbacks2 {
    int TRIM_MEMORY_UI_HIDDEN = 20;
}
