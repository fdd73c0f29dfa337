package android.widget;

public class GridView extends AbsListView {
    private int columns = 1;

    public GridView(android.content.Context context) {
        super(context);
    }

    public int getNumColumns() {
        return columns;
    }

    public void setNumColumns(int columns) {
        this.columns = columns;
    }
}
