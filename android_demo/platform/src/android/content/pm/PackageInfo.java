package android.content.pm;

public class PackageInfo {
    public String packageName = standin.Phone.get().app.name, versionName = "0.1";
}
