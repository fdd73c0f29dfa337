package android.content;

import android.database.Cursor;
import android.graphics.Bitmap;
import android.net.Uri;
import android.os.CancellationSignal;
import android.util.Size;
import java.io.FileNotFoundException;
import java.io.IOException;
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

    /** From API 29 on. */
    public Bitmap loadThumbnail(Uri uri, Size size, CancellationSignal signal) throws IOException {
        return Phone.get().gallery.thumbnail(uri, size);
    }
}
