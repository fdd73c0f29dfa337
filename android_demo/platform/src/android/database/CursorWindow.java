package android.database;

public class CursorWindow {
    public final long size;

    public CursorWindow(String name, long size) {
        this.size = size;
    }
}
