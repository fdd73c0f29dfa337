package android;

public final class Manifest {
    public static final class permission {
        public static final String READ_EXTERNAL_STORAGE = "android.permission.READ_EXTERNAL_STORAGE";
    }
}
