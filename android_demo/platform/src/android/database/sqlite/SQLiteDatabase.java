package android.database.sqlite;

import android.database.Cursor;
import android.database.DatabaseErrorHandler;
import android.os.Build;
import java.io.File;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Properties;

/**
 * A connection of a JDBC driver, with what the framework does around one: it takes the file out of WAL mode, makes an exclusive
 * transaction of every BEGIN, waits 2.5 s for a lock, and, below API 28, takes "ROLLBACK TO" for the end of a transaction.
 */
public final class SQLiteDatabase implements java.io.Closeable {
    public static final int OPEN_READWRITE = 0, OPEN_READONLY = 1, NO_LOCALIZED_COLLATORS = 16, CREATE_IF_NECESSARY = 0x10000000;
    static final Object NULL = new Object();
    private final Connection connection;
    private boolean isInTransaction;

    @FunctionalInterface
    public interface CursorFactory {
        Cursor newCursor(SQLiteDatabase database, SQLiteCursorDriver driver, String table, SQLiteQuery query);
    }

    private static final java.util.Map<SQLiteDatabase, String> OPEN = new java.util.concurrent.ConcurrentHashMap<>();

    private SQLiteDatabase(Connection connection) {
        this.connection = connection;
    }

    /** How many connections to files of this name are open. */
    public static long open(String name) {
        return OPEN.values().stream().filter(name::equals).count();
    }

    public static SQLiteDatabase openDatabase(String path, CursorFactory factory, int flags, DatabaseErrorHandler handler) {
        boolean readOnly = (flags & OPEN_READONLY) != 0;
        boolean create = (flags & CREATE_IF_NECESSARY) != 0;
        Properties options = new Properties();
        options.setProperty("open_mode", String.valueOf(readOnly ? 1 : create ? 6 : 2)); // flags of sqlite3.h
        options.setProperty("busy_timeout", "2500");
        try {
            SQLiteDatabase out = new SQLiteDatabase(DriverManager.getConnection("jdbc:sqlite:" + new File(path).getPath(), options));
            OPEN.put(out, new File(path).getName());
            try {
                if (!readOnly) out.run("PRAGMA journal_mode=TRUNCATE");
            } catch (SQLiteDatabaseLockedException error) {
                // Another connection has it in WAL mode: the framework goes on, too.
            } catch (SQLiteException error) {
                out.close();
                throw error;
            }
            return out;
        } catch (SQLException error) {
            throw translated(error);
        }
    }

    public Cursor rawQueryWithFactory(CursorFactory factory, String sql, String[] values, String table) {
        if (values != null) throw new UnsupportedOperationException("values of text");
        return factory.newCursor(this, new SQLiteCursorDriver() {}, table, new SQLiteQuery(this, sql));
    }

    public void execSQL(String sql, Object[] values) {
        String begin = sql.trim().toUpperCase(Locale.ROOT);
        begin = begin.substring(0, Math.min(3, begin.length()));
        boolean isPart = sql.toUpperCase(Locale.ROOT).contains(" TO ") && Build.VERSION.SDK_INT >= 28;
        switch (begin) {
            case "BEG" -> {
                if (isInTransaction) throw new IllegalStateException("a transaction in a transaction is not part of the stand-in");
                run("BEGIN EXCLUSIVE");
                isInTransaction = true;
            }
            case "COM", "END" -> end("COMMIT");
            case "ROL" -> {
                if (isPart) run(sql, values);
                else end("ROLLBACK");
            }
            case "SEL", "PRA" -> throw new SQLiteException("Queries can be performed using SQLiteDatabase query or rawQuery methods only.");
            default -> run(sql, values);
        }
    }

    private void end(String sql) {
        if (!isInTransaction) throw new IllegalStateException("Cannot perform this operation because there is no current transaction.");
        run(sql);
        isInTransaction = false;
    }

    @Override
    public void close() {
        OPEN.remove(this);
        try {
            connection.close();
        } catch (SQLException error) {
            throw translated(error);
        }
    }

    List<Object[]> run(String sql, Object... values) {
        List<Object[]> out = new ArrayList<>();
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int at = 0; at < values.length; at++) {
                if (values[at] instanceof byte[] blob) statement.setBytes(at + 1, blob);
                else statement.setObject(at + 1, values[at] == NULL ? null : values[at]);
            }
            if (!statement.execute()) return out;
            ResultSet found = statement.getResultSet();
            int columns = found.getMetaData().getColumnCount();
            while (found.next()) {
                Object[] row = new Object[columns];
                for (int column = 0; column < columns; column++) row[column] = found.getObject(column + 1);
                out.add(row);
            }
            return out;
        } catch (SQLException error) {
            throw translated(error);
        }
    }

    private static SQLiteException translated(SQLException error) {
        String said = error.getMessage();
        return switch (error.getErrorCode() & 0xff) { // primary result codes of sqlite3.h
            case 5, 6 -> new SQLiteDatabaseLockedException(said);
            case 8 -> new SQLiteReadOnlyDatabaseException(said);
            case 14 -> new SQLiteCantOpenDatabaseException(said);
            case 19 -> new SQLiteConstraintException(said);
            case 11, 26 -> new SQLiteDatabaseCorruptException(said);
            case 13 -> new SQLiteFullException(said);
            default -> new SQLiteException(said);
        };
    }
}
