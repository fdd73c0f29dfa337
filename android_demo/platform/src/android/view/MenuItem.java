package android.view;

public class MenuItem {
    private final int id;
    public final int title;

    MenuItem(int id, int title) {
        this.id = id;
        this.title = title;
    }

    public int getItemId() {
        return id;
    }
}
