package android.database.sqlite;

import android.database.CursorWindow;
import java.util.List;

/** Runs its query when rows are first wanted. A row must fit into the window through which the system reads rows, of 2 MB or as set. */
public class SQLiteCursor extends android.database.MatrixCursor {
    private CursorWindow window = new CursorWindow("", 2 << 20);
    private final SQLiteQuery query;

    public SQLiteCursor(SQLiteCursorDriver driver, String table, SQLiteQuery query) {
        super(null, 0);
        this.query = query;
    }

    public CursorWindow getWindow() {
        return window;
    }

    public void setWindow(CursorWindow window) {
        this.window = window;
    }

    @Override
    protected List<Object[]> read() {
        List<Object[]> rows = query.database.run(query.sql, query.bound.values().toArray());
        for (Object[] row : rows) {
            long bytes = 0;
            for (Object value : row) bytes += value instanceof byte[] blob ? blob.length : value instanceof String text ? text.length() : 8;
            if (bytes > window.size) throw new SQLiteBlobTooBigException("Row too big to fit into CursorWindow: " + bytes + " bytes");
        }
        return rows;
    }
}
