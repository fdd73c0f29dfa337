package android.media;

import java.io.IOException;
import java.io.InputStream;
import standin.Exif;

public class ExifInterface {
    public static final String TAG_ORIENTATION = "Orientation";
    public static final int ORIENTATION_NORMAL = 1, ORIENTATION_ROTATE_180 = 3, ORIENTATION_TRANSPOSE = 5, ORIENTATION_ROTATE_90 = 6;
    public static final int ORIENTATION_TRANSVERSE = 7, ORIENTATION_ROTATE_270 = 8;
    private final Exif read;

    public ExifInterface(InputStream picture) throws IOException {
        read = new Exif(picture.readAllBytes());
    }

    public boolean getLatLong(float[] into) {
        double[] place = read.place();
        if (place == null) return false;
        into[0] = (float) place[0];
        into[1] = (float) place[1];
        return true;
    }

    public int getAttributeInt(String name, int other) {
        if (!name.equals(TAG_ORIENTATION)) throw new UnsupportedOperationException(name);
        return read.orientation() == 0 ? other : read.orientation();
    }

    public String getAttribute(String name) {
        return switch (name) {
            case "DateTimeOriginal" -> read.text(Exif.TAKEN);
            case "OffsetTimeOriginal" -> read.text(Exif.OFFSET);
            default -> throw new UnsupportedOperationException(name);
        };
    }
}
