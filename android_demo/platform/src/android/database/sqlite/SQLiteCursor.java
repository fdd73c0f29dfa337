package android.database.sqlite;

import java.util.List;

/** Runs its query when rows are first wanted. A row must fit into the window of 2 MB through which the system reads rows. */
public class SQLiteCursor extends android.database.MatrixCursor {
    private static final int WINDOW = 2 << 20;
    private final SQLiteQuery query;

    public SQLiteCursor(SQLiteCursorDriver driver, String table, SQLiteQuery query) {
        super(null, 0);
        this.query = query;
    }

    @Override
    protected List<Object[]> read() {
        List<Object[]> rows = query.database.run(query.sql, query.bound.values().toArray());
        for (Object[] row : rows) {
            long bytes = 0;
            for (Object value : row) bytes += value instanceof byte[] blob ? blob.length : value instanceof String text ? text.length() : 8;
            if (bytes > WINDOW) throw new SQLiteBlobTooBigException("Row too big to fit into CursorWindow: " + bytes + " bytes");
        }
        return rows;
    }
}
