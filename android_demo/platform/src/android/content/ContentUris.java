package android.content;

import android.net.Uri;

public class ContentUris {
    public static Uri withAppendedId(Uri under, long id) {
        return Uri.parse(under + "/" + id);
    }
}
