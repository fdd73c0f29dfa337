package android.content;

import android.net.Uri;
import android.os.Bundle;

public class Intent {
    public static final String ACTION_OPEN_DOCUMENT = "android.intent.action.OPEN_DOCUMENT", ACTION_SEND = "android.intent.action.SEND";
    public static final String ACTION_SEND_MULTIPLE = "android.intent.action.SEND_MULTIPLE";
    public static final String ACTION_VIEW = "android.intent.action.VIEW", ACTION_CHOOSER = "android.intent.action.CHOOSER";
    public static final String ACTION_BATTERY_CHANGED = "android.intent.action.BATTERY_CHANGED";
    public static final String CATEGORY_OPENABLE = "android.intent.category.OPENABLE";
    public static final String EXTRA_STREAM = "android.intent.extra.STREAM", EXTRA_TEXT = "android.intent.extra.TEXT";
    public static final String EXTRA_SUBJECT = "android.intent.extra.SUBJECT", EXTRA_INTENT = "android.intent.extra.INTENT";
    public static final int FLAG_GRANT_READ_URI_PERMISSION = 1;

    /** The screen that is meant; null for one of another app. */
    public final Class<?> screen;
    private final Bundle extras = new Bundle();
    private final String action;
    private Uri data;
    private String type;
    private int flags;

    public Intent(String action) {
        this(action, null);
    }

    public Intent(String action, Uri data) {
        this.action = action;
        this.data = data;
        this.screen = null;
    }

    public Intent(Context context, Class<?> screen) {
        this.action = null;
        this.screen = screen;
    }

    /** The receiver gets a permission to read a picture only if the chooser's intent has it, too: the system copies it there. */
    public static Intent createChooser(Intent to, CharSequence title) {
        Intent out = new Intent(ACTION_CHOOSER).addFlags(to.flags);
        out.extras.put(EXTRA_INTENT, to);
        return out;
    }

    public String getAction() {
        return action;
    }

    public Uri getData() {
        return data;
    }

    public String getType() {
        return type;
    }

    public int getFlags() {
        return flags;
    }

    /** Forgets the data, as the system does: {@link #setDataAndType} sets both. */
    public Intent setType(String type) {
        this.type = type;
        this.data = null;
        return this;
    }

    public Intent setData(Uri data) {
        this.data = data;
        this.type = null;
        return this;
    }

    public Intent setDataAndType(Uri data, String type) {
        this.data = data;
        this.type = type;
        return this;
    }

    public Intent addCategory(String category) {
        return this;
    }

    public Intent addFlags(int more) {
        flags |= more;
        return this;
    }

    public Intent putExtra(String key, String value) {
        extras.put(key, value);
        return this;
    }

    public Intent putExtra(String key, String[] value) {
        extras.put(key, value);
        return this;
    }

    public Intent putExtra(String key, int value) {
        extras.put(key, value);
        return this;
    }

    public Intent putExtra(String key, long value) {
        extras.put(key, value);
        return this;
    }

    public Intent putExtra(String key, double[] value) {
        extras.put(key, value);
        return this;
    }

    public Intent putExtra(String key, Uri value) {
        extras.put(key, value);
        return this;
    }

    public Intent putParcelableArrayListExtra(String key, java.util.ArrayList<Uri> value) {
        extras.put(key, value);
        return this;
    }

    public Bundle getExtras() {
        return extras;
    }

    public String getStringExtra(String key) {
        return extras.getString(key);
    }

    public String[] getStringArrayExtra(String key) {
        return (String[]) extras.get(key);
    }

    public double[] getDoubleArrayExtra(String key) {
        return (double[]) extras.get(key);
    }

    public int getIntExtra(String key, int other) {
        return extras.getInt(key, other);
    }

    public long getLongExtra(String key, long other) {
        return extras.get(key) instanceof Long value ? value : other;
    }

    public Intent putExtra(String key, boolean value) {
        extras.put(key, value);
        return this;
    }

    public boolean getBooleanExtra(String key, boolean other) {
        return extras.get(key) instanceof Boolean value ? value : other;
    }

    public Object extra(String key) {
        return extras.get(key);
    }
}
