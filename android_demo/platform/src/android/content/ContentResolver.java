package android.content;

import android.database.Cursor;
import android.net.Uri;
import java.io.FileNotFoundException;
import java.io.InputStream;
import standin.Phone;

public class ContentResolver {
    public Cursor query(Uri uri, String[] columns, String where, String[] values, String order) {
        if (where != null || values != null) throw new UnsupportedOperationException(where);
        return Phone.get().gallery.query(uri, columns, order);
    }

    public InputStream openInputStream(Uri uri) throws FileNotFoundException {
        return Phone.get().gallery.open(uri);
    }
}
