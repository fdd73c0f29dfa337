package android.widget;

import android.content.Context;
import android.net.Uri;
import android.view.View;

/** Plays nothing, and knows what it was told to play. As there, a place that is sought before the video is open is kept. */
public class VideoView extends View {
    public Uri playing;
    public int from;
    public boolean isPlaying;

    public VideoView(Context context) {
        super(context);
    }

    public void setMediaController(MediaController controller) {}

    public void setVideoURI(Uri uri) {
        change();
        playing = uri;
        from = 0;
    }

    public void seekTo(int ms) {
        from = ms;
    }

    public int getCurrentPosition() {
        return from;
    }

    public void start() {
        isPlaying = playing != null;
    }

    public void pause() {
        isPlaying = false;
    }

    public void stopPlayback() {
        pause();
        playing = null;
    }
}
