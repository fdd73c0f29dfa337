package android.database.sqlite;

import java.util.TreeMap;

public abstract class SQLiteProgram {
    final SQLiteDatabase database;
    final String sql;
    final TreeMap<Integer, Object> bound = new TreeMap<>();

    SQLiteProgram(SQLiteDatabase database, String sql) {
        this.database = database;
        this.sql = sql;
    }

    public void bindNull(int at) {
        bound.put(at, SQLiteDatabase.NULL);
    }

    public void bindLong(int at, long value) {
        bound.put(at, value);
    }

    public void bindDouble(int at, double value) {
        bound.put(at, value);
    }

    public void bindString(int at, String value) {
        bound.put(at, java.util.Objects.requireNonNull(value));
    }

    public void bindBlob(int at, byte[] value) {
        bound.put(at, java.util.Objects.requireNonNull(value));
    }
}
