package android.database;

import java.util.List;

public class MatrixCursor implements Cursor {
    private int at = -1;

    /** Called once, when rows are first wanted. */
    protected List<Object[]> read() {
        return rows;
    }

    private List<Object[]> rows;
    private final int columns;
    private boolean isRead;

    public MatrixCursor(List<Object[]> rows, int columns) {
        this.rows = rows;
        this.columns = columns;
    }

    private List<Object[]> rows() {
        if (!isRead) rows = read();
        isRead = true;
        return rows;
    }

    private Object at(int column) {
        return rows().get(at)[column];
    }

    @Override
    public int getCount() {
        return rows().size();
    }

    @Override
    public int getColumnCount() {
        return rows().isEmpty() ? columns : rows().get(0).length;
    }

    @Override
    public boolean moveToFirst() {
        at = 0;
        return getCount() > 0;
    }

    @Override
    public boolean moveToNext() {
        return ++at < getCount();
    }

    @Override
    public int getType(int column) {
        Object value = at(column);
        if (value == null) return FIELD_TYPE_NULL;
        if (value instanceof Long || value instanceof Integer) return FIELD_TYPE_INTEGER;
        if (value instanceof Double) return FIELD_TYPE_FLOAT;
        return value instanceof byte[] ? FIELD_TYPE_BLOB : FIELD_TYPE_STRING;
    }

    @Override
    public boolean isNull(int column) {
        return at(column) == null;
    }

    @Override
    public long getLong(int column) {
        return at(column) == null ? 0 : ((Number) at(column)).longValue();
    }

    @Override
    public int getInt(int column) {
        return (int) getLong(column);
    }

    @Override
    public double getDouble(int column) {
        return at(column) == null ? 0 : ((Number) at(column)).doubleValue();
    }

    @Override
    public String getString(int column) {
        return at(column) == null ? null : at(column).toString();
    }

    @Override
    public byte[] getBlob(int column) {
        return (byte[]) at(column);
    }

    @Override
    public void close() {}
}
