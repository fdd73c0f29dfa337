package android.os;

public final class PowerManager {
    public int getCurrentThermalStatus() {
        return standin.Phone.get().thermal;
    }
}
