package android;

public final class R {
    public static final class attr {
        public static final int state_activated = 0x010102fe;
    }

    public static final class layout {
        public static final int simple_spinner_dropdown_item = 0x01090009;
    }
}
