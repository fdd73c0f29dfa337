package android.widget;

import android.content.Context;
import standin.Phone;

public class Toast {
    public static final int LENGTH_SHORT = 0, LENGTH_LONG = 1;
    private final String text;

    private Toast(String text) {
        this.text = text;
    }

    public static Toast makeText(Context context, CharSequence text, int length) {
        return new Toast(text.toString());
    }

    public static Toast makeText(Context context, int id, int length) {
        return new Toast(context.getString(id));
    }

    public void show() {
        Phone.get().toasts.add(text);
    }
}
