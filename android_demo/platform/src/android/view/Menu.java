package android.view;

import java.util.ArrayList;
import java.util.List;

public class Menu {
    public final List<MenuItem> items = new ArrayList<>();

    public MenuItem add(int group, int id, int order, int title) {
        MenuItem out = new MenuItem(id, title);
        items.add(out);
        return out;
    }
}
