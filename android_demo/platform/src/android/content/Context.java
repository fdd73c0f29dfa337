package android.content;

import android.content.res.AssetManager;
import android.content.res.Resources;
import android.content.pm.PackageManager;
import java.io.File;
import standin.Phone;

public abstract class Context {
    public static final String INPUT_METHOD_SERVICE = "input_method", JOB_SCHEDULER_SERVICE = "jobscheduler", POWER_SERVICE = "power";
    public static final int MODE_PRIVATE = 0;

    public File getFilesDir() {
        return Phone.get().folder("files");
    }

    public File getCacheDir() {
        return Phone.get().folder("cache");
    }

    public File getExternalFilesDir(String type) {
        return Phone.get().hasExternalStorage ? Phone.get().folder("external") : null;
    }

    public String getPackageName() {
        return Phone.get().app.name;
    }

    public PackageManager getPackageManager() {
        return new PackageManager();
    }

    public AssetManager getAssets() {
        return new AssetManager();
    }

    public Resources getResources() {
        return new Resources();
    }

    public final String getString(int id) {
        return getResources().getString(id);
    }

    public final String getString(int id, Object... values) {
        return getResources().getString(id, values);
    }

    public ContentResolver getContentResolver() {
        return new ContentResolver();
    }

    public SharedPreferences getSharedPreferences(String name, int mode) {
        return Phone.get().preferences.computeIfAbsent(name, it -> new SharedPreferences());
    }

    public Object getSystemService(String name) {
        return switch (name) {
            case JOB_SCHEDULER_SERVICE -> Phone.get().scheduler;
            case INPUT_METHOD_SERVICE -> new android.view.inputmethod.InputMethodManager();
            case POWER_SERVICE -> new android.os.PowerManager();
            default -> throw new UnsupportedOperationException(name);
        };
    }

    public int checkSelfPermission(String permission) {
        return Phone.get().isGranted(permission) ? PackageManager.PERMISSION_GRANTED : PackageManager.PERMISSION_DENIED;
    }

    public Intent registerReceiver(BroadcastReceiver receiver, IntentFilter filter) {
        if (receiver != null || !filter.action.equals(Intent.ACTION_BATTERY_CHANGED)) throw new UnsupportedOperationException(filter.action);
        return new Intent(filter.action).putExtra("level", Phone.get().battery).putExtra("scale", 100).putExtra("plugged", Phone.get().isCharging ? 1 : 0).putExtra("temperature", 285);
    }

    public void startActivity(Intent to) {
        throw new IllegalStateException("Calling startActivity() from outside of an Activity context requires FLAG_ACTIVITY_NEW_TASK");
    }
}
