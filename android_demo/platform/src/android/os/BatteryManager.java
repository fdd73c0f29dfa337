package android.os;

public class BatteryManager {
    public static final String EXTRA_LEVEL = "level", EXTRA_SCALE = "scale", EXTRA_PLUGGED = "plugged", EXTRA_TEMPERATURE = "temperature";
}
