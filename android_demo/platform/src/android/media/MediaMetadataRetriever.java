package android.media;

import android.content.Context;
import android.graphics.Bitmap;
import android.net.Uri;
import java.io.IOException;
import java.io.InputStream;
import standin.Phone;
import standin.Video;

public class MediaMetadataRetriever {
    public static final int METADATA_KEY_DURATION = 9, METADATA_KEY_VIDEO_WIDTH = 18, METADATA_KEY_VIDEO_HEIGHT = 19;
    public static final int METADATA_KEY_LOCATION = 23, METADATA_KEY_VIDEO_ROTATION = 24;
    public static final int OPTION_CLOSEST_SYNC = 2, OPTION_CLOSEST = 3;
    private Video video;
    private boolean isReleased;

    public void setDataSource(Context context, Uri uri) {
        try (InputStream found = Phone.get().gallery.open(uri)) {
            video = new Video(found);
        } catch (IOException error) {
            throw new IllegalArgumentException("setDataSource failed: " + error.getMessage());
        }
    }

    public String extractMetadata(int key) {
        return switch (key) {
            case METADATA_KEY_DURATION -> "" + video.length();
            case METADATA_KEY_VIDEO_WIDTH -> "" + video.width();
            case METADATA_KEY_VIDEO_HEIGHT -> "" + video.height();
            case METADATA_KEY_LOCATION -> video.place;
            case METADATA_KEY_VIDEO_ROTATION -> "0";
            default -> throw new UnsupportedOperationException("" + key);
        };
    }

    public Bitmap getFrameAtTime(long microseconds, int how) {
        return getScaledFrameAtTime(microseconds, how, video.width(), video.height());
    }

    /** From API 27 on. */
    public Bitmap getScaledFrameAtTime(long microseconds, int how, int width, int height) {
        if (isReleased) throw new IllegalStateException("released");
        return Bitmap.createScaledBitmap(new Bitmap(video.at(microseconds / 1_000)), width, height, true);
    }

    public void release() {
        isReleased = true;
    }
}
