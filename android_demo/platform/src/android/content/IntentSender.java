package android.content;

public class IntentSender {
    public static class SendIntentException extends Exception {}

    public final Runnable deed;

    public IntentSender(Runnable deed) {
        this.deed = deed;
    }
}
