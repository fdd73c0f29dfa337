package android.provider;

import android.app.PendingIntent;
import android.content.ContentResolver;
import android.content.Context;
import android.net.Uri;
import java.util.Collection;
import java.util.Set;

public final class MediaStore {
    public static Set<String> getExternalVolumeNames(Context context) {
        return standin.Phone.get().gallery.volumes();
    }

    public static PendingIntent createTrashRequest(ContentResolver resolver, Collection<Uri> photos, boolean is) {
        return new PendingIntent(() -> photos.forEach(photo -> standin.Phone.get().gallery.delete(id(photo))));
    }

    public static PendingIntent createFavoriteRequest(ContentResolver resolver, Collection<Uri> photos, boolean is) {
        return new PendingIntent(() -> photos.forEach(photo -> standin.Phone.get().gallery.mark(id(photo), is)));
    }

    /** Asked for anything but an item of its own, the provider throws. */
    private static long id(Uri photo) {
        if (standin.Phone.get().gallery.idOf(photo) == null)
            throw new IllegalArgumentException("All requested items must be referenced by specific ID: " + photo);
        return Long.parseLong(photo.getLastPathSegment());
    }

    public static final class Video {
        public static final class Media {
            public static final Uri EXTERNAL_CONTENT_URI = Uri.parse("content://media/external/video/media");
        }
    }

    public static final class Images {
        public static final class Media {
            public static final Uri EXTERNAL_CONTENT_URI = Uri.parse("content://media/external/images/media");
            public static final String _ID = "_id", DATE_TAKEN = "datetaken", DATE_MODIFIED = "date_modified", ORIENTATION = "orientation", DATE_ADDED = "date_added";
            public static final String DISPLAY_NAME = "_display_name";
        }
    }
}
