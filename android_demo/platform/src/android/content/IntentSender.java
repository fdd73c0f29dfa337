package android.content;

public class IntentSender {
    public final Runnable deed;

    public IntentSender(Runnable deed) {
        this.deed = deed;
    }
}
