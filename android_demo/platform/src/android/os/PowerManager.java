package android.os;

public final class PowerManager {
    public boolean isPowerSaveMode() {
        return standin.Phone.get().isSaving;
    }

    public int getCurrentThermalStatus() {
        return standin.Phone.get().thermal;
    }
}
