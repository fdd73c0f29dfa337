package android.content.res;

import android.util.DisplayMetrics;
import standin.Phone;

public class Resources {
    public String getString(int id) {
        return Phone.get().app.string(id, Phone.get().language);
    }

    public String getString(int id, Object... values) {
        return String.format(java.util.Locale.forLanguageTag(Phone.get().language), getString(id), values);
    }

    public DisplayMetrics getDisplayMetrics() {
        return new DisplayMetrics();
    }
}
