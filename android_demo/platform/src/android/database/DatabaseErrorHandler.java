package android.database;

public interface DatabaseErrorHandler {
    void onCorruption(android.database.sqlite.SQLiteDatabase database);
}
