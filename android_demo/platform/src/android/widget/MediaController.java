package android.widget;

public class MediaController {
    public MediaController(android.content.Context context) {}
}
