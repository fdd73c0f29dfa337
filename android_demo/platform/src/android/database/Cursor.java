package android.database;

/** Rows that were read: the stand-in reads them all at once. */
public interface Cursor extends java.io.Closeable {
    int FIELD_TYPE_NULL = 0, FIELD_TYPE_INTEGER = 1, FIELD_TYPE_FLOAT = 2, FIELD_TYPE_STRING = 3, FIELD_TYPE_BLOB = 4;

    int getCount();

    int getColumnCount();

    boolean moveToFirst();

    boolean moveToNext();

    int getType(int column);

    boolean isNull(int column);

    long getLong(int column);

    int getInt(int column);

    double getDouble(int column);

    String getString(int column);

    byte[] getBlob(int column);

    @Override
    void close();
}
