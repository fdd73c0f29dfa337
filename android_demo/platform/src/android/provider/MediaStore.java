package android.provider;

import android.content.Context;
import android.net.Uri;
import java.util.Set;

public final class MediaStore {
    public static Set<String> getExternalVolumeNames(Context context) {
        return standin.Phone.get().gallery.volumes();
    }

    public static final class Images {
        public static final class Media {
            public static final Uri EXTERNAL_CONTENT_URI = Uri.parse("content://media/external/images/media");
            public static final String _ID = "_id", DATE_TAKEN = "datetaken", DATE_MODIFIED = "date_modified", ORIENTATION = "orientation", DATE_ADDED = "date_added";
            public static final String DISPLAY_NAME = "_display_name";
        }
    }
}
