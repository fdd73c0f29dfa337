package android.database.sqlite;

public class SQLiteFullException extends SQLiteException {
    public SQLiteFullException(String message) {
        super(message);
    }
}
