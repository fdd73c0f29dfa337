package android.database.sqlite;

public final class SQLiteQuery extends SQLiteProgram {
    SQLiteQuery(SQLiteDatabase database, String sql) {
        super(database, sql);
    }
}
