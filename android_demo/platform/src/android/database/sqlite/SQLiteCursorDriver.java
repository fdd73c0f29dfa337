package android.database.sqlite;

public interface SQLiteCursorDriver {}
